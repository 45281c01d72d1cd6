import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { Protocol } from './profile.ts'
import { profileIn } from './protocols.ts'

type Server = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  readonly model: string
  readonly signal: AbortSignal
}

/** The routes of conversations, the one that nearly all servers have first. */
const routes: readonly { readonly protocol: Protocol; readonly path: string }[] = [
  { protocol: 'chat', path: '/chat/completions' },
  { protocol: 'responses', path: '/responses' },
  { protocol: 'messages', path: '/messages' },
  { protocol: 'completions', path: '/completions' },
]

/** The first protocol that a server has a route for; chat completions where none is found. A request without messages asks. */
export async function findProtocol(server: Server): Promise<Protocol> {
  for (const { protocol, path } of routes) if (await hasRoute(server, protocol, path)) return protocol
  return 'chat'
}

/** Whether a server refuses an incomplete request for another reason than that the route is missing. */
async function hasRoute({ client, endpoint, model, signal }: Server, protocol: Protocol, path: string): Promise<boolean> {
  const { head } = profileIn('openai', protocol)
  try {
    await client.ask(endpoint, { method: 'POST', path, body: { model }, head }, signal)
    return true
  } catch (error) {
    signal.throwIfAborted()
    return !(error instanceof UpstreamError && error.failure.type === 'status' && [404, 405, 501].includes(error.failure.status))
  }
}
