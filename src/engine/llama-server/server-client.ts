import { textOf } from '../../base/text/text-of.ts'
import { modelsSchema, propsSchema, readFacts, type ServerFacts } from './server-facts.ts'

/** The address of a server that we started, its key, and the name of its model. */
export type ServerEndpoint = { readonly url: string; readonly apiKey: string; readonly model: string }

/** `not-ours`: another program listens on the port. */
export type Health = 'silent' | 'loading' | 'ready' | 'not-ours'

const answerTimeoutMs = 5000
/** The properties contain the chat template. */
const mostReplyBytes = 16 * 1024 * 1024

/** Whether the server listens yet, and whether its model is loaded. Never rejects. */
export async function askHealth({ url }: ServerEndpoint): Promise<Health> {
  try {
    const reply = await fetch(new URL('/health', url), { signal: AbortSignal.timeout(answerTimeoutMs) })
    // Another program on the port may send anything.
    await reply.body?.cancel()
    if (reply.status === 200) return 'ready'
    return reply.status === 503 ? 'loading' : 'not-ours'
  } catch {
    // Not listening yet, or not answering: the caller decides by how long that lasts.
    return 'silent'
  }
}

/** The facts of a loaded server; undefined when it is not the one that was started under this name. */
export async function askFacts(endpoint: ServerEndpoint): Promise<ServerFacts | undefined> {
  const models = modelsSchema.safeParse(await getJson(endpoint, '/v1/models'))
  if (models.data?.data[0]?.id !== endpoint.model) return undefined
  const props = propsSchema.safeParse(await getJson(endpoint, '/props'))
  return props.data === undefined ? undefined : readFacts(props.data, models.data)
}

async function getJson({ url, apiKey }: ServerEndpoint, path: string): Promise<unknown> {
  const reply = await fetch(new URL(path, url), {
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.timeout(answerTimeoutMs),
  })
  if (!reply.ok || reply.body === null) return undefined
  return JSON.parse(await textOf(reply.body, { what: `the reply to ${path}`, mostBytes: mostReplyBytes }))
}
