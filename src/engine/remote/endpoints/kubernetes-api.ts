import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent } from 'undici'
import { textOf } from '../../../base/text/text-of.ts'
import { asObject, asText } from '../transport/loose-json.ts'
import { hostInUrl } from './host-in-url.ts'

export type KubernetesAccess = {
  /** The URL of the API server, such as that of `kubectl proxy`. Absent: the pod's. */
  readonly api?: string
  /** The folder with the pod's token, its namespace and the certificate of the API server. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** A refusal by the API server. `status` 410 means that the resource version is too old to continue from. */
export class KubernetesError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const podFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
/** The server sends a bookmark about every minute: a connection that is silent for longer may be dead. */
const silenceMs = 90_000
/** Kubernetes limits an object to 1.5 MiB. */
const maxLineLength = 2 * 1024 * 1024

/** The namespace of the pod that this process runs in. */
export async function ownNamespace({ folder = podFolder }: KubernetesAccess): Promise<string> {
  const text = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '')
  if (text.trim() === '') throw new Error('this process does not run in a pod: set `kubernetes.namespace`')
  return text.trim()
}

/** Reads from the Kubernetes API server with the pod's token. */
export class KubernetesApi {
  readonly #origin: string
  readonly #folder: string
  readonly #agent: Agent

  private constructor(origin: string, folder: string, ca: string | undefined) {
    this.#origin = origin
    this.#folder = folder
    this.#agent = new Agent({
      headersTimeout: 15_000,
      bodyTimeout: silenceMs,
      connect: { timeout: 5000, ...(ca !== undefined && { ca }) },
    })
  }

  static async open({ api, folder = podFolder, env = process.env }: KubernetesAccess): Promise<KubernetesApi> {
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
    const own = host === undefined ? undefined : `https://${hostInUrl(host)}:${port}`
    const origin = api ?? own
    if (origin === undefined) throw new Error('this process does not run in a pod: set `kubernetes.api`')
    // Outside of a pod, the system's certificates apply.
    const ca = await readFile(join(folder, 'ca.crt'), 'utf8').catch(() => undefined)
    return new KubernetesApi(origin.replace(/\/+$/, ''), folder, ca)
  }

  async get(path: string, { signal, mostBytes }: { readonly signal: AbortSignal; readonly mostBytes: number }): Promise<string> {
    return await textOf(await this.#send(path, signal), { what: 'the list', mostBytes })
  }

  /** Yields the lines of a streamed reply, batched as they arrive; `onOpen` is called when it begins. Ends when the server ends it or the connection breaks. */
  async *lines(
    path: string,
    { signal, onOpen }: { readonly signal: AbortSignal; onOpen(): void },
  ): AsyncGenerator<readonly string[]> {
    const body = await this.#send(path, signal)
    onOpen()
    const decoder = new TextDecoder()
    let rest = ''
    try {
      for await (const bytes of body) {
        const lines = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        if (rest.length > maxLineLength) throw new KubernetesError(500, 'the API server sent a line without an end')
        yield lines.filter((line) => line.trim() !== '')
      }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof KubernetesError) throw error
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #send(path: string, signal: AbortSignal) {
    // Kubernetes replaces the token about once an hour. It is never sent in plain text.
    const isSecret = this.#origin.startsWith('https:')
    const token = isSecret ? await readFile(join(this.#folder, 'token'), 'utf8').catch(() => '') : ''
    const { statusCode, body } = await this.#agent.request({
      origin: this.#origin,
      path,
      method: 'GET',
      signal,
      headers: { accept: 'application/json', ...(token.trim() !== '' && { authorization: `Bearer ${token.trim()}` }) },
    })
    if (statusCode === 200) return body
    const said = await textOf(body, { what: 'the refusal', mostBytes: maxLineLength }).catch(() => '')
    throw new KubernetesError(statusCode, messageFor(statusCode, path, said))
  }
}

function messageFor(status: number, path: string, said: string): string {
  const [, group, resource] = /^\/apis?\/(?:(.+?)\/)?v1\/.*?([a-z]+)\?/.exec(path) ?? []
  const wanted = `\`${resource}\`${group === undefined ? '' : ` of \`${group}\``}`
  if (status === 401 || status === 403)
    return `the API server answers ${status}: the pod's service account needs \`list\` and \`watch\` for ${wanted}`
  if (status === 404) return `the API server answers 404: it has no ${wanted}`
  return `the API server answers ${status}${messageIn(said)}`
}

/** The reason of the API server's refusal, such as of a selector. */
function messageIn(said: string): string {
  try {
    const message = asText(asObject(JSON.parse(said))?.message)
    return message === undefined ? '' : `: ${message}`
  } catch {
    // A proxy's page.
    return ''
  }
}
