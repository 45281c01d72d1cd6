import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { docxFile, wordParagraph, xlsxFile } from '../../support/documents/office-files.ts'
import { pdfFile, pdfOf, scannedPdf } from '../../support/documents/pdf-file.ts'
import { zipFile } from '../../support/documents/zip-file.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { llamaServerBinary } from '../../support/llama/llama-server.ts'
import { hasSenses } from '../../support/llama/senses.ts'
import { type ScriptedUpstream, startUpstream } from '../../support/upstream/upstream.ts'

const pdf = pdfFile(['The treasure is in Bremen'])
const scanned = {
  width: 64,
  height: 64,
  dictionary: '/ColorSpace /DeviceRGB /BitsPerComponent 8',
  data: Buffer.alloc(64 * 64 * 3, 200),
}
const scan = scannedPdf([scanned])
/** Its pages are one of text, one scanned, and one scanned with a number on it. */
const mixed = scannedPdf([{ ...scanned, share: 0.03, text: 'first' }, scanned, { ...scanned, text: '3 / 3' }])
const docx = docxFile(wordParagraph('The treasure is in Bremen'))
const types = { 'a.pdf': 'application/pdf', 'a.docx': 'application/vnd.openxmlformats', Dockerfile: 'application/octet-stream' }
const files = { 'a.pdf': pdf, 'a.docx': docx, Dockerfile: Buffer.from('The treasure is in Bremen') }
type Name = keyof typeof files
const names = Object.keys(files) as Name[]
const textOf = (name: string) => `File ${name}:\n\nThe treasure is in Bremen`

/** A way in which a file is sent: a route, the field of the file, and the body with a file, or with a text instead. */
type Way = {
  readonly path: string
  readonly place: string
  readonly file: (name: string, bytes: Buffer) => object
  readonly text: (text: string) => object
}

const inTurn = (part: object) => ({ messages: [{ role: 'user', content: [part] }], max_tokens: 1 })
const inItem = (part: object) => ({ input: [{ role: 'user', content: [part] }], max_output_tokens: 16 })
const base64 = (bytes: Buffer) => bytes.toString('base64')
const dataUrl = (name: string, bytes: Buffer) => `data:${typeOf(name)};base64,${base64(bytes)}`
const typeOf = (name: string) => types[name as Name] ?? 'application/octet-stream'
const textPart = (text: string) => ({ type: 'text', text })

const ways: Readonly<Record<string, Way>> = {
  'chat, a data URL': {
    path: '/v1/chat/completions',
    place: 'messages[0].content[0].file.file_data',
    file: (filename, bytes) => inTurn({ type: 'file', file: { filename, file_data: dataUrl(filename, bytes) } }),
    text: (text) => inTurn(textPart(text)),
  },
  'chat, plain base64': {
    path: '/v1/chat/completions',
    place: 'messages[0].content[0].file.file_data',
    file: (filename, bytes) => inTurn({ type: 'file', file: { filename, file_data: base64(bytes) } }),
    text: (text) => inTurn(textPart(text)),
  },
  Responses: {
    path: '/v1/responses',
    place: 'input[0].content[0].file_data',
    file: (filename, bytes) => inItem({ type: 'input_file', filename, file_data: dataUrl(filename, bytes) }),
    text: (text) => inItem({ type: 'input_text', text }),
  },
  'Messages, base64': {
    path: '/v1/messages',
    place: 'messages[0].content[0].source.data',
    file: (title, bytes) =>
      inTurn({ type: 'document', title, source: { type: 'base64', media_type: typeOf(title), data: base64(bytes) } }),
    text: (text) => inTurn(textPart(text)),
  },
}

let app: RunningApp
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream((_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"seen"}}')
  })
  const source = 'builtin:dragoman-tiny.gguf'
  const local = { source, mmproj: 'none', contextLength: 1024, threads: 1 }
  const endpoints = [{ url: upstream.url }]
  const remote = { engine: 'remote' as const, endpoints, upstreamModel: 'up', probe: false }
  const binary = llamaServerBinary
  app = await startApp({
    builtinModel: false,
    models: [
      { ...local, engine: 'llama', id: 'embedded' },
      ...(binary === undefined ? [] : [{ ...local, engine: 'llama-server' as const, binary, id: 'llama-server' }]),
      ...(hasSenses ? [{ ...local, mmproj: 'builtin:dragoman-tiny-mmproj.gguf', engine: 'llama' as const, id: 'seeing' }] : []),
      { ...remote, server: 'openai', id: 'chat' },
      { ...remote, server: 'vllm', id: 'vllm' },
      { ...remote, server: 'dragoman', id: 'dragoman', protocol: 'responses' },
      { ...remote, server: 'openai', id: 'responses', protocol: 'responses' },
      { ...remote, server: 'anthropic', id: 'messages' },
    ],
  })
})
afterAll(async () => {
  await app?.close()
  await upstream?.close()
})

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
  const reply = await fetch(app.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: reply.status, body: (await reply.json()) as Reply }
}

type Reply = {
  readonly error?: { readonly message: string; readonly param?: string }
  readonly usage?: { readonly [Name in 'prompt_tokens' | 'input_tokens' | 'cache_read_input_tokens']?: number }
  readonly input_tokens?: number
}

function tokensIn({ usage: { prompt_tokens, input_tokens = 0, cache_read_input_tokens = 0 } = {} }: Reply): number {
  return prompt_tokens ?? input_tokens + cache_read_input_tokens
}

/** Those of the wanted texts that a text has, one behind the other. */
function inOrder(text: string, wanted: readonly string[]): readonly string[] {
  let from = 0
  return wanted.filter((each) => {
    const at = text.indexOf(each, from)
    if (at >= 0) from = at + each.length
    return at >= 0
  })
}

/** What the upstream was sent for this request. */
async function sent(model: string, { path, body }: { readonly path: string; readonly body: object }): Promise<string> {
  upstream.seen.length = 0
  const reply = await post(path, { ...body, model })
  expect({ hasSeen: upstream.seen.length > 0, ...reply }).toMatchObject({ hasSeen: true })
  return JSON.stringify(upstream.seen[0]?.body)
}

describe.each(Object.entries(ways))('a document in %s', (_, { path, place, file, text }) => {
  test.each(['embedded', ...(llamaServerBinary === undefined ? [] : ['llama-server'])])(
    'is read as its text by %s',
    async (model) => {
      const counted = async (body: object) => {
        const reply = await post(path, { ...body, model })
        expect(reply).toMatchObject({ status: 200 })
        return tokensIn(reply.body)
      }
      for (const name of names) expect(await counted(file(name, files[name]))).toBe(await counted(text(textOf(name))))
    },
  )

  test.each(['chat', 'vllm', 'dragoman'])('is sent as its text to the server of %s', async (model) => {
    for (const name of names)
      expect(await sent(model, { path, body: file(name, files[name]) })).toBe(
        await sent(model, { path, body: text(textOf(name)) }),
      )
  })

  test.each([
    ['messages', 'a.pdf', true],
    ['messages', 'a.docx', false],
    ['responses', 'a.pdf', true],
    ['responses', 'a.docx', true],
  ] as const)('goes to a server of %s as it reads it: %s', async (model, name, isFile) => {
    const body = await sent(model, { path, body: file(name, files[name]) })
    expect(body.includes(base64(files[name]))).toBe(isFile)
    expect(body.includes(JSON.stringify(textOf(name)).slice(1, -1))).toBe(!isFile)
  })

  test('goes, if it is a scan, as pictures to models that see, and others refuse it by its name', async () => {
    const asked = file('scan.pdf', scan)
    for (const [model, own] of Object.entries({ chat: 'image_url', vllm: 'image_url', dragoman: 'input_image' })) {
      const body = await sent(model, { path, body: asked })
      expect(body).toContain('File scan.pdf:')
      expect(body).toContain(`"type":"${own}"`)
      expect(body).toContain('data:image/png;base64,')
    }
    const refused = await post(path, { ...asked, model: 'embedded' })
    expect(refused.status).toBe(400)
    expect(refused.body.error?.message).toMatch(/'scan\.pdf' has no text, only pictures of pages/)
    if (!hasSenses) return
    const { status, body } = await post(path, { ...asked, model: 'seeing' })
    expect({ status, body }).toMatchObject({ status: 200 })
    const named = await post(path, { ...text('File scan.pdf:'), model: 'seeing' })
    expect(tokensIn(body)).toBeGreaterThan(tokensIn(named.body) + 10)
  })

  test('sends pages that are pictures among pages of text in their places, and names them to models that do not see', async () => {
    const asked = file('mixed.pdf', mixed)
    for (const model of ['chat', 'vllm', 'dragoman']) {
      const body = await sent(model, { path, body: asked })
      const places = ['File mixed.pdf:', '## Page 1\\nfirst', '## Page 2', 'image/png', '## Page 3\\n3 / 3', 'image/png']
      expect(inOrder(body, places)).toEqual(places)
      expect(body).not.toContain('not read')
    }
    const { status } = await post(path, { ...asked, model: 'embedded' })
    expect(status).toBe(200)
    const named =
      'File mixed.pdf:\n\n## Page 1\nfirst\n\n## Page 2\n\n[picture, not read]\n\n## Page 3\n3 / 3\n[picture, not read]'
    const counts = [asked, text(named)].map(async (body) => tokensIn((await post(path, { ...body, model: 'embedded' })).body))
    const [given, expected] = await Promise.all(counts)
    expect(given).toBe(expected)
  })

  test.each<[string, Buffer, RegExp]>([
    [
      'locked.docx',
      zipFile({ 'word/document.xml': 'x' }, { flags: 1 }),
      /the file 'locked\.docx' is encrypted: remove its password/,
    ],
    [
      'a.doc',
      Buffer.from(`d0cf11e0a1b11ae1${'00'.repeat(504)}${Buffer.from('WordDocument', 'utf16le').toString('hex')}`, 'hex'),
      /save it as \.docx/,
    ],
    ['half.docx', docx.subarray(0, 100), /is damaged/],
    ['bomb.docx', docxFile('\0'.repeat(101_000_000)), /unpacks to more than 100 MB/],
    ['a.bin', Buffer.from([0, 1, 2]), /neither text in UTF-8 nor a PDF/],
  ])('is refused by name where it is %s', async (name, bytes, problem) => {
    for (const model of ['embedded', 'chat']) {
      const { status, body } = await post(path, { ...file(name, bytes), model })
      expect(status).toBe(400)
      expect(body.error?.message).toMatch(problem)
      expect(body.error?.param ?? body.error?.message.split(':')[0]).toBe(place)
    }
  })
})

test('a file that was uploaded is read by its id in each protocol', async () => {
  const form = new FormData()
  form.set('purpose', 'user_data')
  form.set('file', new Blob([new Uint8Array(docx)], { type: types['a.docx'] }), 'a.docx')
  const { id } = (await (await fetch(`${app.url}/v1/files`, { method: 'POST', body: form })).json()) as { readonly id: string }
  const asked = [
    ['/v1/chat/completions', inTurn({ type: 'file', file: { file_id: id } })],
    ['/v1/responses', inItem({ type: 'input_file', file_id: id })],
    ['/v1/messages', inTurn({ type: 'document', source: { type: 'file', file_id: id } })],
  ] as const
  for (const [path, body] of asked) expect(await sent('chat', { path, body })).toContain('The treasure is in Bremen')
})

test('the result of a tool may hold a document', async () => {
  const source = { type: 'base64', media_type: 'application/pdf', data: base64(pdf) }
  const messages = [
    { role: 'user', content: 'read' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'document', source }] }] },
  ]
  const body = { messages, max_tokens: 1, tools: [{ name: 'f', input_schema: { type: 'object' } }] }
  expect(await sent('chat', { path: '/v1/messages', body })).toContain('The treasure is in Bremen')
})

test('the tokens of a document are counted as those of its text', async () => {
  const counted = async (body: object) =>
    (await post('/v1/messages/count_tokens', { ...body, model: 'embedded' })).body.input_tokens
  const { file, text } = ways['Messages, base64'] as Way
  expect(await counted(file('a.pdf', pdf))).toBe(await counted(text(textOf('a.pdf'))))
})

test('a document that the context does not hold is refused with its size', async () => {
  const { path, file } = ways['chat, a data URL'] as Way
  const rows = '<row><c><v>123456</v></c></row>'.repeat(2000)
  const { status, body } = await post(path, { ...file('a.xlsx', xlsxFile(rows)), model: 'embedded' })
  expect({ status, message: body.error?.message }).toMatchObject({ status: 400, message: expect.stringMatching(/1024/) })
})

test('a page that unpacks to more than the memory for it is refused, and the server goes on', async () => {
  const bomb = pdfOf([Buffer.alloc(400_000_000, ' ')])
  const { path, file } = ways['chat, a data URL'] as Way
  const { status, body } = await post(path, { ...file('bomb.pdf', bomb), model: 'embedded' })
  expect({ status, message: body.error?.message }).toMatchObject({ status: 400, message: expect.stringMatching(/MiB of memory/) })
})
