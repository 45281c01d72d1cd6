import { urlOf } from './base.ts'
import { connectionLost } from './connection.ts'
import { apiKey, asksForKey } from './session.ts'

/** A request that failed: what was tried, and the server's own message, which names a remedy. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure'
  /** 0: the server could not be reached. */
  readonly status: number
  readonly tried: string
  constructor(message: string, { status, tried }: { readonly status: number; readonly tried: string }) {
    super(message)
    this.status = status
    this.tried = tried
  }
}

export type ApiCall = {
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request with the session's key. Throws `ApiFailure`, and the reason of an abort. */
export async function send(path: string, { method, body, signal, headers = {} }: ApiCall = {}): Promise<Response> {
  const verb = method ?? (body === undefined ? 'GET' : 'POST')
  const tried = `${verb} ${path.startsWith('/') ? path : `/${path}`}`
  let response: Response
  try {
    response = await fetch(urlOf(path.replace(/^\//, '')), {
      method: verb,
      cache: 'no-store',
      headers: {
        ...headers,
        ...(apiKey.value !== undefined && { authorization: `Bearer ${apiKey.value}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    connectionLost()
    throw new ApiFailure('the server cannot be reached', { status: 0, tried })
  }
  if (response.ok) return response
  const message = await messageOf(response)
  if (response.status === 401) asksForKey.value = message
  throw new ApiFailure(message, { status: response.status, tried })
}

/** Sends a request and reads its JSON. The types are those of the documented routes of this server. */
export async function call<T>(path: string, options?: ApiCall): Promise<T> {
  return (await (await send(path, options)).json()) as T
}

/** The message in an error envelope of any protocol, or the status. */
async function messageOf(response: Response): Promise<string> {
  const text = await response.text()
  try {
    const { error, message, detail } = JSON.parse(text) as Record<string, unknown>
    const said = typeof error === 'object' && error !== null ? Reflect.get(error, 'message') : (error ?? message ?? detail)
    if (typeof said === 'string') return said
  } catch {
    // Not JSON: a proxy's page, whose status says more.
  }
  return `the server answered with status ${response.status}`
}

/** A description of a failure for people. */
export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
