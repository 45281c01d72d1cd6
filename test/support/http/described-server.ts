import { fileURLToPath } from 'node:url'
import { writeWav } from '../../../src/base/wav.ts'
import { encodeGguf } from '../llama/gguf-writer.ts'
import { listenOnLoopback } from '../upstream/loopback.ts'
import { type RunningApp, startApp, until } from './app.ts'
import { createJudge, type Got, type OpenapiDocument, type OpenapiOperation, operationsOf } from './openapi-judge.ts'

/** One request for a route of the document. */
export type DescribedCall = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly operation: OpenapiOperation
  /** The example, with the id of a model. */
  readonly json?: unknown
  readonly form?: () => FormData
}

/** What this server cannot do with its models, and answers instead. */
export const refused: Readonly<Record<string, number>> = {
  // A scripted model.
  'POST /infill': 400,
  'POST /v1/rerank': 400,
  'POST /v1/inference/rerank': 400,
  'POST /v1alpha/inference/rerank': 400,
  'POST /v1/lora/load': 400,
  'POST /v1/lora/unload': 400,
  // No request has added the model.
  'DELETE /api/delete': 403,
  // The query names nothing.
  'DELETE /v1/models': 400,
  'GET /api/model-file': 400,
  'GET /api/load-estimate': 400,
  'DELETE /api/model-file': 400,
  'GET /v1/stream': 400,
  'DELETE /v1/stream': 400,
  // No tool has made a file, and no call waits.
  'GET /api/inference/sandbox/{session}/{file}': 404,
  'POST /api/inference/tool-confirm': 404,
  // Nothing has been fetched.
  'GET /api/v1/models/download/status/{job}': 404,
  // Only this machine can reach it, so it has no keys.
  'POST /api/keys': 409,
  // No host is allowed.
  'POST /api/tools': 400,
  'DELETE /api/keys/{id}': 404,
}

/** The status of the answer to an example. */
export function statusOf({ name, operation }: DescribedCall): number {
  return refused[name] ?? Number(Object.keys(operation.responses)[0])
}

const chatTemplate = fileURLToPath(new URL('../../../src/dialect/openai-chat/__fixtures__/hermes.jinja', import.meta.url))
const model = 'org/fake'
const silence = writeWav(Buffer.alloc(0), { frameBytes: 2, framesPerSecond: 24_000 })
/** A file without a tensor, for downloads. */
const gguf = encodeGguf(new Map([['general.architecture', { type: 'string', value: 'llama' }]]), [])

/** A server with all routes, whose models are scripted or behind another server on loopback, and calls of each route. */
export async function openDescribed({ hasOther = true } = {}) {
  const other = await listenOnLoopback(({ url = '' }, response) => {
    // Those of the catalogue are not there: a load of the file fails.
    if (url.startsWith('/api/models/') && !url.includes('OWNER/REPO')) response.writeHead(404).end()
    else if (url.startsWith('/api/models/'))
      response.end(JSON.stringify([{ type: 'file', path: 'x-Q4_K_M.gguf', size: gguf.length }]))
    else if (url.endsWith('.gguf')) response.setHeader('content-length', gguf.length).end(gguf)
    else if (url.includes('/audio/speech')) response.setHeader('content-type', 'audio/wav').end(silence)
    else response.setHeader('content-type', 'application/json').end(JSON.stringify({ text: 'Good morning.', data: [] }))
  })
  const hub = process.env.HF_ENDPOINT
  process.env.HF_ENDPOINT = other.origin
  const app = await startApp({
    storage: {},
    media: { urls: 'off' },
    models: [
      { engine: 'fake', id: model, aliases: ['default', 'MODEL'], script: 'from-request', chatTemplate, contextLength: 20_000 },
      ...(hasOther ? [otherModel(`${other.origin}/v1`)] : []),
    ],
  })
  const document = (await (await fetch(`${app.url}/openapi.json`)).json()) as OpenapiDocument
  const ids = await makeThings(app)
  return {
    app,
    document,
    judge: createJudge(document),
    calls: () => callsOf(document, ids, `${other.origin}/v1`),
    send: (call: DescribedCall) => send(app.url, call),
    close: async () => {
      if (hub === undefined) delete process.env.HF_ENDPOINT
      else process.env.HF_ENDPOINT = hub
      await app.close()
      await other.close()
    },
  }
}

/** Sound and pictures of the other server. */
const otherModel = (url: string): NonNullable<Parameters<typeof startApp>[0]['models']>[number] => ({
  engine: 'remote',
  id: 'studio',
  endpoints: [{ url }],
  server: 'openai',
  upstreamModel: 'up',
  probe: false,
  services: ['speech', 'transcription', 'translation', 'images'],
})

type Ids = {
  readonly completion: string
  readonly response: string
  readonly conversation: string
  readonly item: string
  readonly file: string
  /** A file of the purpose `batch`. */
  readonly requestFile: string
  readonly batch: string
  readonly messageBatch: string
  readonly request: string
  /** A script of the page. */
  readonly script: string
}

/** What routes with an id are called for. */
async function makeThings({ url }: RunningApp): Promise<Ids> {
  const post = async (path: string, body: object | FormData) => {
    const isForm = body instanceof FormData
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      ...(isForm ? { body } : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    return (await response.json()) as { readonly id: string; readonly data: readonly { readonly id: string }[] }
  }
  const item = { type: 'message', role: 'user', content: 'Good morning.' }
  const { id: conversation } = await post('/v1/conversations', {})
  const { data } = await post(`/v1/conversations/${conversation}/items`, { items: [item] })
  const { id: response } = await post('/v1/responses', { model, input: 'Good morning.', background: true })
  const { id: file } = await post('/v1/files', form())
  const { id: requestFile } = await post('/v1/files', form('batch'))
  const ofFile = { input_file_id: requestFile, endpoint: '/v1/embeddings', completion_window: '24h' }
  const { id: batch } = await post('/v1/batches', ofFile)
  const params = { model, max_tokens: 5, messages: [{ role: 'user', content: 'Good morning.' }] }
  const { id: messageBatch } = await post('/v1/messages/batches', { requests: [{ custom_id: 'one', params }] })
  await until(async () => {
    const { processing_status: status } = (await (await fetch(`${url}/v1/messages/batches/${messageBatch}`)).json()) as {
      readonly processing_status: string
    }
    return status === 'ended'
  })
  const { id: completion } = await post('/v1/chat/completions', { model, messages: [item], store: true })
  const { requests } = (await (await fetch(`${url}/api/requests`)).json()) as {
    readonly requests: readonly { readonly id: string }[]
  }
  const page = await (await fetch(url, { headers: { accept: 'text/html' } })).text()
  const script = /src="\.\/page\/([^"]+)"/.exec(page)?.[1] ?? ''
  const made = { completion, conversation, response, file, requestFile, batch, messageBatch }
  return { ...made, item: data[0]?.id ?? '', request: requests[0]?.id ?? '', script }
}

function form(purpose = 'user_data', field = 'file'): FormData {
  const made = new FormData()
  made.set('purpose', purpose)
  made.set(field, new Blob(['Good morning.'], { type: 'text/plain' }), 'a.txt')
  return made
}

/** All calls; what is deleted, and unloaded, is at the end. */
function callsOf(document: OpenapiDocument, ids: Ids, url: string): readonly DescribedCall[] {
  const isLast = ({ name }: { readonly name: string }) =>
    Number(/^DELETE|unload/.test(name)) + Number(/^DELETE [^{]*\{id\}$/.test(name))
  return operationsOf(document)
    .sort((a, b) => isLast(a) - isLast(b))
    .map(({ operation, ...named }) => {
      const { requestBody: { content } = {} } = operation
      const example = content?.['application/json']?.example
      return {
        ...named,
        operation,
        params: paramsOf(named.path, ids),
        ...(content?.['multipart/form-data'] !== undefined && {
          form: () => (named.path.includes('/images/') ? form('user_data', 'image') : form()),
        }),
        ...(example !== undefined && {
          json: filled(example, ids, named.path.includes('/replicas/') ? { model: 'studio', url } : { model }),
        }),
      }
    })
}

function paramsOf(
  path: string,
  { completion, response, conversation, item, file, batch, messageBatch, request, script }: Ids,
): Record<string, string> {
  if (!path.includes('{')) return {}
  if (path.includes('{itemId}')) return { id: conversation, itemId: item }
  if (path.includes('{session}')) return { session: 'sandbox-1', file: 'a.txt' }
  if (path.includes('{name}')) return { name: script }
  if (path.includes('{job}')) return { job: 'job_1' }
  const kinds = {
    '/chat/completions/': completion,
    '/responses/': response,
    '/conversations/': conversation,
    '/files/': file,
    '/messages/batches/': messageBatch,
    '/batches/': batch,
    '/requests/': request,
    '/keys/': 'key_1',
  }
  return { id: Object.entries(kinds).find(([kind]) => path.includes(kind))?.[1] ?? model }
}

function filled(example: object, { requestFile }: Ids, known: { readonly model: string; readonly url?: string }): unknown {
  const text = JSON.stringify(example)
    .replaceAll('"MODEL"', JSON.stringify(known.model))
    .replaceAll('"FILE"', JSON.stringify(requestFile))
  return { ...JSON.parse(text), ...(known.url !== undefined && { url: known.url }) }
}

async function send(url: string, { method, path, params, json, form }: DescribedCall): Promise<Got> {
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => params[name] ?? '')
  const response = await fetch(`${url}${target}`, {
    method,
    ...(json !== undefined && { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }),
    ...(form !== undefined && { body: form() }),
  })
  const type = response.headers.get('content-type') ?? ''
  const isEndless = method === 'GET' && type.startsWith('text/event-stream')
  return { status: response.status, type, text: isEndless ? await firstOf(response) : await response.text() }
}

/** What comes first of a reply that ends with its connection. */
async function firstOf({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  const text = (await reader?.read())?.value ?? ''
  await reader?.cancel()
  return text
}
