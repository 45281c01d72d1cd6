import { z } from 'zod'
import { readingOf, streamOf } from './protocols.ts'
import { fieldsOf, type Recording, routeOf } from './recording.ts'

/** What became of a recorded request. */
export type Verdict = {
  readonly status: number
  /** The fields that the server says it ignores. */
  readonly ignored: readonly string[]
  /** In the words that the client shows. */
  readonly refusal?: string
  /** What the client cannot use, and is not among the refusals below. */
  readonly faults: readonly string[]
}

type Refusal = {
  readonly route: RegExp
  readonly when?: (body: Readonly<Record<string, unknown>>) => boolean
  readonly status: number
  readonly words: RegExp
}

/** What is refused on purpose; everything else that clients send by default is answered. */
const refusals: readonly Refusal[] = [
  { route: /^\/api\/push$/, status: 501, words: /cannot push models/ },
  { route: /^\/api\/copy$/, status: 501, words: /alias/ },
  { route: /^\/api\/create$/, status: 501, words: /configuration/ },
  { route: /^\/api\/generate$/, when: ({ template }) => Boolean(template), status: 400, words: /Go templates are not rendered/ },
  // The model here has no tokens for it.
  { route: /^\/infill$/, status: 400, words: /cannot fill in the middle/ },
  { route: /^\/api\/generate$/, when: ({ suffix }) => Boolean(suffix), status: 400, words: /cannot fill in the middle/ },
  { route: /\/json_to_grammar$/, status: 501, words: /send the schema itself/ },
  { route: /\/completions\/control$/, status: 200, words: /enable_thinking false/ },
  { route: /^\/api\/v1\/models\/download$/, status: 404, words: /owner\/missing-GGUF/ },
  // No model here speaks; Open WebUI then offers voices of its own.
  { route: /^\/v1\/audio\/voices$/, status: 400, words: /no model here has the service 'speech'/ },
  // Claude Code asks whether it is connected, and takes any answer.
  { route: /^\/api\/hello$/, status: 404, words: /^/ },
]

/** The repository that a hub for tests has. */
const onHub = 'hf.co/owner/small:Q8_0'

/** Sends a recording to a server with the models of client-app.ts, and reads the reply as its client does. */
export async function judge(url: string, recording: Recording): Promise<Verdict> {
  const reply = await send(url, { ...recording, body: await bodyOf(url, recording) })
  const content = await reply.text()
  const known = { status: reply.status, ignored: namesIn(reply.headers.get('x-dragoman-ignored') ?? '') }
  const refusal = reply.status === 200 ? refusalIn(content) : (errorOf(content) ?? content)
  const wanted = refusals.find(({ route, when = () => true }) => route.test(routeOf(recording)) && when(fieldsOf(recording.body)))
  if (refusal === undefined && wanted === undefined) {
    return { ...known, faults: faultsOf(recording, { type: reply.headers.get('content-type') ?? '', content }) }
  }
  const isWanted = reply.status === wanted?.status && wanted.words.test(refusal ?? '')
  return { ...known, refusal: refusal ?? '', faults: isWanted ? [] : [`${reply.status}: ${content.slice(0, 300)}`] }
}

const refused = z.object({ success: z.literal(false), message: z.string() })

/** The words of a reply that says itself that it did nothing. */
function refusalIn(content: string): string | undefined {
  return content.startsWith('{"success":false') ? refused.safeParse(JSON.parse(content)).data?.message : undefined
}

function send(url: string, { method, path, headers, body }: Recording): Promise<Response> {
  return fetch(url + path, { method, headers, ...(body !== null && { body: JSON.stringify(body) }) })
}

/** The fields that a header lists. */
function namesIn(header: string): string[] {
  return header.split(', ').flatMap((name) => (name === '' ? [] : [decodeURIComponent(name)]))
}

/** The body, with what has to be there before: a model that is deleted, and a response that is continued. */
async function bodyOf(url: string, recording: Recording): Promise<unknown> {
  const { method, body } = recording
  if (method === 'DELETE') {
    await before(url, recording, { path: '/api/pull', body: { model: onHub, stream: false } })
    const { model: _, name: __, ...others } = fieldsOf(body)
    return { ...others, model: onHub }
  }
  const text = JSON.stringify(body)
  if (!/"previous_response_id":"|"item_reference"/.test(text)) return body
  const { model, tools } = fieldsOf(body)
  const asked = { model, tools, input: 'How is the weather in Oslo?' }
  const { id, output } = answered.parse(await before(url, recording, { path: '/v1/responses', body: asked }))
  const ids = new Map(output.flatMap((item) => [item.id, item.call_id ?? item.id]).map((known) => [prefixOf(known), known]))
  const named = new Map([...ids, [prefixOf(id), id]])
  return JSON.parse(text.replace(/"([a-z]+)_0{8,}\d+"/g, (zeroed, prefix) => JSON.stringify(named.get(prefix) ?? zeroed)))
}

const answered = z.object({ id: z.string(), output: z.array(z.object({ id: z.string(), call_id: z.string().optional() })) })
const prefixOf = (id: string) => id.replace(/_.*/, '')

async function before(url: string, recording: Recording, request: Pick<Recording, 'path' | 'body'>): Promise<unknown> {
  const reply = await send(url, { ...recording, method: 'POST', ...request })
  if (!reply.ok) throw new Error(`what was there before cannot be made: ${await reply.text()}`)
  return reply.json()
}

function faultsOf(recording: Recording, { type, content }: { type: string; content: string }): string[] {
  const reading = readingOf(recording)
  if (reading === undefined) return [`nothing is known of the replies of ${recording.method} ${recording.path}`]
  const stream = streamOf(reading, recording)
  if (stream === undefined && reading.readWhole === undefined) return []
  const framing = type.includes('event-stream') ? 'sse' : (/ndjson|json/.exec(type)?.[0] ?? type)
  const wanted = stream?.framing ?? 'json'
  if (framing !== wanted) return [`the reply is ${framing}, and ${wanted} is read`]
  if (stream === undefined) return faultsIn(() => reading.readWhole?.(JSON.parse(content)))
  const parts =
    framing === 'sse'
      ? eventsOf(content)
      : content
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line))
  const faults = parts
    .filter((part) => part !== '[DONE]')
    .flatMap((part) => [...errorsIn(part), ...faultsIn(() => stream.readPart(part))])
  return stream.isLast(parts.at(-1)) ? faults : [...faults, `the stream does not end: ${JSON.stringify(parts.at(-1))}`]
}

function eventsOf(content: string): unknown[] {
  const data = content.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  return data.map((text) => (text === '[DONE]' ? text : JSON.parse(text)))
}

function errorsIn(part: unknown): string[] {
  const error = errorOf(JSON.stringify(part))
  return error === undefined ? [] : [error]
}

function faultsIn(check: () => void): string[] {
  try {
    check()
    return []
  } catch (error) {
    return [(error instanceof Error ? error.message : String(error)).slice(0, 1000)]
  }
}

/** The words of an error in a reply of any protocol. */
function errorOf(content: string): string | undefined {
  try {
    const { error, detail } = JSON.parse(content)
    return typeof error === 'string' ? error : (error?.message ?? detail?.msg)
  } catch {
    return undefined
  }
}
