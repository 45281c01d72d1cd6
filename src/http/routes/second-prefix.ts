/** OpenAI's routes, served or not, that llama-stack has below a prefix of its own as well: `/v1/openai/v1/chat/completions`. */
const openaiRoutes = [
  'batches',
  'chat/completions',
  'completions',
  'conversations',
  'embeddings',
  'files',
  'models',
  'moderations',
  'responses',
  'vector_stores',
]
const prefix = '/v1/openai'
const prefixed = new RegExp(`^${prefix}(/v1/(?:${openaiRoutes.join('|')})(?:[/?].*)?)$`)

/** The routes of all protocols, which Unsloth has without `/v1` below a prefix of its own: `/api/inference/messages`. */
const mountedRoutes = [
  'audio',
  'chat/completions',
  'chat/count_tokens',
  'completions',
  'conversations',
  'embeddings',
  'images',
  'messages',
  'models',
  'responses',
]
const mount = '/api/inference'
/** Also `/v1` twice: a client of Messages adds its own to a base URL that ends in one. */
const mounted = new RegExp(`^(?:${mount}|/v1/v1)(/(?:${mountedRoutes.join('|')})(?:[/?].*)?)$`)

/** Unsloth's own routes, which it also has below `/v1`. Not its cancel: there it would stop what other clients of OpenAI's routes run. */
const own =
  /^\/v1(\/(?:generate\/stream|load|load-progress|sandbox\/[^/?]+\/[^/?]+|status|tool-confirm|unload|validate)\/?(?:\?.*)?)$/

/** llama-server has these without a prefix, LM Studio below one of its own. llama-server's `/embeddings` and `/completions` have other forms. */
const bare = [
  /^(\/(?:chat\/completions|messages|responses)(?:[/?].*)?)$/,
  /^(\/models(?:\?.*)?)$/,
  /^\/api\/v0(\/(?:chat\/completions|completions|embeddings)(?:\?.*)?)$/,
]
const otherRerank = /^\/(?:v1\/)?rerank(?:ing)?(\?.*)?$/

/** The URL of the route that a URL with another prefix means; other URLs unchanged. */
export function withoutSecondPrefix(url: string): string {
  const route = mounted.exec(url)?.[1]
  if (route !== undefined) return `/v1${route}`
  const ownRoute = own.exec(url)?.[1]
  if (ownRoute !== undefined) return `${mount}${ownRoute}`
  for (const pattern of bare) {
    const bareRoute = pattern.exec(url)?.[1]
    if (bareRoute !== undefined) return `/v1${bareRoute}`
  }
  const rerank = otherRerank.exec(url)
  return rerank === null ? (prefixed.exec(url)?.[1] ?? url) : `/v1/rerank${rerank[1] ?? ''}`
}

/** The other paths that mean the route of this one. */
export function otherPathsOf(path: string): readonly string[] {
  const rest = path.replace(/^\/v1(?=\/)/, '')
  const reranking = path === '/v1/rerank' ? ['/rerank', '/reranking', '/v1/reranking'] : []
  const below = [rest, `${prefix}${path}`, `${mount}${rest}`, `/api/v0${rest}`, `/v1${path.slice(mount.length)}`, ...reranking]
  return [...new Set(below)].filter((other) => other !== path && withoutSecondPrefix(other) === path)
}

/** Whether a URL has OpenAI's second prefix: then the reply has OpenAI's form, whatever the client. */
export function hasSecondPrefix(url: string): boolean {
  return prefixed.test(url)
}

/** The path with OpenAI's second prefix; undefined for a path that has none. */
export function withSecondPrefix(path: string): string | undefined {
  const second = `${prefix}${path}`
  return hasSecondPrefix(second) ? second : undefined
}
