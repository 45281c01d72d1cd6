/** A protocol with its own replies on routes that it shares with others. */
export type Surface = 'llama-stack' | 'unsloth'

/** Other paths of routes. */
type Mount = {
  /** The prefix that clients write instead of `of`. */
  readonly at: string
  readonly of: string
  readonly surface?: Surface
  /** Paths below `of` with everything below them, also of routes that are not served. */
  readonly trees?: readonly string[]
  /** Single paths below `of`. */
  readonly paths?: readonly string[]
  /** A mistake of clients: descriptions of the API leave it out. */
  readonly isSlip?: true
}

/** The routes of all protocols that Unsloth has. */
const ofAllProtocols = [
  '/audio',
  '/chat/completions',
  '/chat/count_tokens',
  '/completions',
  '/conversations',
  '/embeddings',
  '/images',
  '/messages',
  '/models',
  '/responses',
]

const mounts: readonly Mount[] = [
  // llama-server has these without a prefix. Its own `/embeddings` and `/completions` have other forms.
  { at: '', of: '/v1', trees: ['/chat/completions', '/messages', '/responses'], paths: ['/models', '/rerank'] },
  // llama-stack has OpenAI's routes below a prefix of its own, too.
  {
    at: '/v1/openai/v1',
    of: '/v1',
    surface: 'llama-stack',
    trees: [
      '/batches',
      '/chat/completions',
      '/completions',
      '/conversations',
      '/embeddings',
      '/files',
      '/models',
      '/moderations',
      '/responses',
      '/vector_stores',
    ],
  },
  { at: '/api/inference', of: '/v1', surface: 'unsloth', trees: ofAllProtocols },
  // LM Studio.
  { at: '/api/v0', of: '/v1', paths: ['/chat/completions', '/completions', '/embeddings'] },
  // A client of Messages adds its `/v1` to a base URL that ends in one.
  { at: '/v1/v1', of: '/v1', trees: ofAllProtocols, isSlip: true },
  // Unsloth has its own routes below `/v1`, too. Not its cancel: there it would stop what other clients of OpenAI's routes run.
  {
    at: '/v1',
    of: '/api/inference',
    trees: ['/sandbox'],
    paths: ['/generate/stream', '/load', '/load-progress', '/status', '/tool-confirm', '/unload', '/validate'],
  },
  { at: '/reranking', of: '/v1/rerank', paths: [''] },
  { at: '/v1/reranking', of: '/v1/rerank', paths: [''] },
  // Cohere's SDKs.
  { at: '/v2/rerank', of: '/v1/rerank', paths: [''] },
]

/** The URL of the route that a URL means, and the protocol whose path the client wrote. */
export function routedAs(url: string): { readonly route: string; readonly surface?: Surface | undefined } {
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  const mount = mounts.find((mount) => path.startsWith(mount.at) && covers(mount, path.slice(mount.at.length)))
  return mount === undefined ? { route: url } : { route: mount.of + url.slice(mount.at.length), surface: mount.surface }
}

/** The other paths that mean the route of this one. */
export function otherPathsOf(path: string): readonly string[] {
  return mounts.flatMap((mount) => (mount.isSlip === true ? [] : (pathAt(mount, path) ?? [])))
}

/** The path on a protocol's own mount; undefined for a path that it does not have there. */
export function pathOn(surface: Surface, path: string): string | undefined {
  return mounts.filter((mount) => mount.surface === surface).flatMap((mount) => pathAt(mount, path) ?? [])[0]
}

function pathAt(mount: Mount, path: string): string | undefined {
  const rest = path.slice(mount.of.length)
  return path.startsWith(mount.of) && covers(mount, rest) ? mount.at + rest : undefined
}

function covers({ trees = [], paths = [] }: Pick<Mount, 'trees' | 'paths'>, rest: string): boolean {
  const plain = rest.endsWith('/') ? rest.slice(0, -1) : rest
  const isBelow = (tree: string) => plain.startsWith(tree) && (plain.length === tree.length || plain[tree.length] === '/')
  return paths.includes(plain) || trees.some(isBelow)
}
