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

/** The URL of the route that a URL with the second prefix means; other URLs unchanged. */
export function withoutSecondPrefix(url: string): string {
  return prefixed.exec(url)?.[1] ?? url
}

/** Whether a URL has the second prefix: then the reply has OpenAI's form, whatever the client. */
export function hasSecondPrefix(url: string): boolean {
  return prefixed.test(url)
}

/** The path with the second prefix; undefined for a path that has none. */
export function withSecondPrefix(path: string): string | undefined {
  const second = `${prefix}${path}`
  return hasSecondPrefix(second) ? second : undefined
}
