import { type RunningApp, until } from '../http/app.ts'
import type { RouterName, RunningRouter } from '../process/routers.ts'

/** A model of that router's name, behind it. */
export function modelBehind(
  name: RouterName,
  { url }: RunningRouter,
  engine: { readonly server: 'dragoman' | 'llama-server'; readonly upstreamModel: string },
) {
  const endpoints = [{ url: `${url}/v1`, kind: 'router' as const }]
  return { id: name, engine: 'remote' as const, endpoints, router: name, ...engine }
}

/** The answer to a chat request, and how long it took. */
export async function post({ url }: { readonly url: string }, body: object, headers: Record<string, string> = {}) {
  const startMs = performance.now()
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const json = text.startsWith('{') ? JSON.parse(text) : {}
  return { status: response.status, headers: response.headers, text, json, tookMs: performance.now() - startMs }
}

/** The messages of a request: a text, or a script of the fake engine. */
export function asking(script: object | string) {
  return [{ role: 'user', content: typeof script === 'string' ? script : JSON.stringify(script) }]
}

/** What `GET /v1/models/ID` says that its router passes on, once that is known. */
export async function passesOf({ url }: Pick<RunningApp, 'url'>, model: string): Promise<unknown> {
  let passes: unknown
  await until(async () => {
    const detail = (await (await fetch(`${url}/v1/models/${model}`)).json()) as { servers?: { passes?: unknown }[] }
    passes = detail.servers?.[0]?.passes
    return passes !== undefined
  })
  return passes
}
