import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtProgram } from '../support/process/built-program.ts'
import { health, slowestHealth } from '../support/process/probe.ts'
import { longestStallMs, mostHealthMs } from '../support/process/stall-bound.ts'

const template = '{% for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor %}{{ extra }}<|assistant|>'

let home: string
let server: ChildProcess
let url: string
let pid: number
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'dragoman-heavy-'))
  await writeFile(join(home, 'chat.jinja'), template)
  const models = [
    '  - { id: scripted, engine: fake, script: from-request, aliases: [default] }',
    '  - { id: templated, engine: fake, script: from-request, chatTemplate: ./chat.jinja }',
  ]
  await writeFile(join(home, 'dragoman.yaml'), `server: { port: 0 }\nmodels:\n${models.join('\n')}\n`)
  const args = [builtProgram, 'serve', '--config', join(home, 'dragoman.yaml')]
  server = spawn(process.execPath, args, { env: { ...process.env, DRAGOMAN_HOME: home }, stdio: ['ignore', 'pipe', 'ignore'] })
  if (server.stdout === null) throw new Error('the server has no output')
  const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
  url = line.replace('listening on ', '')
  pid = server.pid ?? 0
  await health({ url, pid })
}, 60_000)
afterAll(async () => {
  server.kill()
  await once(server, 'exit')
  await rm(home, { recursive: true, force: true })
})

const times = (count: number, item: string | ((index: number) => string), between = ',') =>
  Array.from({ length: count }, (_, index) => (typeof item === 'string' ? item : item(index))).join(between)
const chat = (fields: string, model = 'scripted') =>
  `{"model":"${model}","max_tokens":4,"messages":[{"role":"user","content":"hi"}]${fields === '' ? '' : `,${fields}`}}`
const say = (content: string, model = 'scripted') =>
  `{"model":"${model}","max_tokens":4,"messages":[{"role":"user","content":"${content}"}]}`
const mega = 1_000_000

const chats = '/v1/chat/completions'
const completions = '/v1/completions'
const bodies: readonly (readonly [name: string, path: string, body: () => string | Buffer, status: number])[] = [
  ['lists of one', completions, () => `{"model":"scripted","prompt":[${times(8 * mega, '[1]')}]}`, 413],
  [
    'as many numbers as allowed',
    completions,
    () => `{"model":"scripted","max_tokens":4,"prompt":[${times(mega - 10, '123')}]}`,
    200,
  ],
  ['as many fractions as allowed', chats, () => chat(`"more":[${times(0.45 * mega, '1.2345678901234567e-5')}]`), 200],
  ['more fractions than allowed', chats, () => chat(`"more":[${times(mega - 10, '1.2345678901234567e-5')}]`), 413],
  [
    'prompts of many tokens',
    completions,
    () => `{"model":"scripted","max_tokens":1,"prompt":[${times(500, `[${times(1900, '12')}]`)}]}`,
    200,
  ],
  ['wide template variables', chats, () => chat(`"template_vars":{${times(2 * mega, (i) => `"k${i}":1`)}}`), 413],
  ['as many fields as allowed', chats, () => chat(`"template_vars":{${times(44_000, (i) => `"k${i}":1`)}}`), 200],
  ['as many variables as allowed', chats, () => chat(`"template_vars":{"extra":[${times(49_000, '1')}]}`, 'templated'), 200],
  ['a wide logit_bias', chats, () => chat(`"logit_bias":{${times(2 * mega, (i) => `"${i}":1`)}}`), 413],
  ['as many biases as allowed', chats, () => chat(`"logit_bias":{${times(40_000, (i) => `"${i}":1`)}}`), 200],
  ['unknown fields', chats, () => chat(times(2 * mega, (i) => `"k${i}":1`)), 413],
  ['fewer unknown fields', chats, () => chat(times(44_000, (i) => `"k${i}":1`)), 400],
  [
    'unknown fields of messages',
    chats,
    () => `{"model":"scripted","max_tokens":1,"messages":[${times(14_500, (i) => `{"role":"user","content":"x","k${i}":1}`)}]}`,
    200,
  ],
  [
    'many messages',
    chats,
    () => `{"model":"templated","max_tokens":1,"messages":[${times(3000, '{"role":"user","content":"x"}')}]}`,
    200,
  ],
  [
    'more messages than are rendered',
    chats,
    () => `{"model":"templated","messages":[${times(22_000, '{"role":"user","content":"x"}')}]}`,
    400,
  ],
  [
    'many tools',
    chats,
    () =>
      chat(
        `"tools":[${times(500, (i) => `{"type":"function","function":{"name":"f${i}","parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}}}`)}]`,
        'templated',
      ),
    200,
  ],
  ['banned tokens as text', chats, () => chat(`"banned_tokens":"${'1,'.repeat(2 * mega)}1"`), 400],
  ['many choices', chats, () => chat(`"guided_choice":[${times(900_000, '"a"')}]`), 413],
  ['as many choices as allowed', chats, () => chat(`"guided_choice":[${times(190_000, (i) => `"c${i}"`)}]`), 400],
  ['as many nested lists as allowed', chats, () => chat(`"more":[${times(2000, '['.repeat(120) + ']'.repeat(120))}]`), 200],
  [
    'many items of Responses',
    '/v1/responses',
    () => `{"model":"scripted","store":false,"max_output_tokens":1,"input":[${times(14_500, '{"role":"user","content":"x"}')}]}`,
    200,
  ],
  [
    'unknown fields of items',
    '/v1/responses',
    () =>
      `{"model":"scripted","store":false,"max_output_tokens":1,"input":[${times(14_500, (i) => `{"role":"user","content":"x","k${i}":1}`)}]}`,
    200,
  ],
  [
    'many calls of Responses',
    '/v1/responses',
    () =>
      `{"model":"scripted","store":false,"max_output_tokens":1,"input":[${times(6000, (i) => `{"type":"function_call","call_id":"c${i}","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c${i}","output":"x"}`)}]}`,
    200,
  ],
  [
    'as many stop sequences as allowed',
    '/v1/messages',
    () =>
      `{"model":"scripted","max_tokens":4000,"stop_sequences":[${times(1024, (i) => `"s${i}"`)}],"messages":[{"role":"user","content":"${'a '.repeat(4000)}"}]}`,
    200,
  ],
  [
    'more stop sequences than allowed',
    '/v1/messages',
    () =>
      `{"model":"scripted","max_tokens":1,"stop_sequences":[${times(190_000, (i) => `"s${i}"`)}],"messages":[{"role":"user","content":"x"}]}`,
    400,
  ],
  [
    'many blocks of Messages',
    '/v1/messages',
    () =>
      `{"model":"scripted","max_tokens":1,"messages":[{"role":"user","content":[${times(22_000, '{"type":"text","text":"x"}')}]}]}`,
    200,
  ],
  [
    'more prompts of a batch than allowed',
    '/v1/inference/batch-completion',
    () => `{"model_id":"scripted","content_batch":[${times(190_000, '"x"')}]}`,
    400,
  ],
  ['a large schema as text', chats, () => chat(`"json_schema":"[${'1,'.repeat(8 * mega)}1]"`), 400],
  ['words', chats, () => say('a '.repeat(15 * mega)), 200],
  ['words for a template', chats, () => say('a '.repeat(mega - 10), 'templated'), 200],
  ['more words than are rendered', chats, () => say('a '.repeat(15 * mega), 'templated'), 400],
  ['escapes', chats, () => say('\\n\\"'.repeat(7 * mega)), 200],
  ['escapes of characters', chats, () => say('\\u4e2d'.repeat(5 * mega)), 200],
  ['other scripts', chats, () => say('中文'.repeat(5 * mega)), 200],
  ['white space', chats, () => `${' '.repeat(30 * mega)}${say('x')}`, 200],
  [
    'an image',
    chats,
    () =>
      `{"model":"scripted","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${'A'.repeat(30 * mega)}"}}]}]}`,
    400,
  ],
  ['a long script', chats, () => say(`{\\"chunks\\":[${'\\"a\\",'.repeat(4 * mega)}`), 400],
  ['what is not JSON at its end', chats, () => `${say('a '.repeat(15 * mega))}x`, 400],
  ['lines that are not JSON', chats, () => '\n'.repeat(30 * mega), 400],
  ['what is not UTF-8', chats, () => Buffer.concat([Buffer.from('{"a":"'), Buffer.alloc(30 * mega, 0xff)]), 400],
  ['a key that escapes', chats, () => `{"__\\u0070roto__":1,"a":[${times(900_000, '1')}]}`, 400],
  ['the embedding of one text', '/v1/embeddings', () => `{"model":"scripted","input":"${'a '.repeat(2 * mega)}"}`, 200],
  [
    'embeddings of many texts',
    '/v1/embeddings',
    () => `{"model":"scripted","input":[${times(2048, `[${times(480, '1')}]`)}]}`,
    200,
  ],
  ['the score of one text', '/v1/score/evaluation', () => `{"model":"scripted","messages":["${'a '.repeat(2 * mega)}"]}`, 400],
  ['scores of long texts', '/v1/score/evaluation', () => `{"model":"scripted","messages":["${'a '.repeat(8_000)}"]}`, 200],
  ['the tokens of a text', '/tokenize', () => `{"model":"scripted","content":"${'a '.repeat(15 * mega)}"}`, 400],
  [
    'an echo with log-probabilities',
    completions,
    () => `{"model":"scripted","echo":true,"logprobs":1,"n":4,"max_tokens":1,"prompt":"${'a '.repeat(8_000)}"}`,
    200,
  ],
  [
    'arguments of a call',
    chats,
    () =>
      `{"model":"templated","messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"[${'1,'.repeat(8 * mega)}1]"}}]}]}`,
    400,
  ],
]

async function post(path: string, body: string | Buffer): Promise<{ status: number; text: string }> {
  try {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: body as NonNullable<RequestInit['body']> })
    return { status: reply.status, text: await reply.text() }
  } catch (error) {
    // The server closes the connection of a body that it refuses while that arrives.
    return { status: 413, text: String(error) }
  }
}

/** The longest time that the server's event loop was held up since the last call. */
async function longestStall(): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const line = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)
  return Number(line?.[1] ?? Number.NaN) * 1000
}

describe('one heavy request does not hold up the others', () => {
  test.each(bodies)('%s', { timeout: 120_000 }, async (name, path, make, status) => {
    const body = make()
    await longestStall()
    const replied = post(path, body)
    const slowestMs = await slowestHealth({ url, pid }, () => replied)
    const stallMs = await longestStall()
    const reply = await replied
    if (process.env.SHOW_STALLS !== undefined)
      console.log(`${name}: ${reply.status}, stall ${stallMs.toFixed(0)} ms, health ${slowestMs.toFixed(0)} ms`)
    expect([reply.status, reply.text.slice(0, 200)]).toEqual([status, expect.any(String)])
    expect(stallMs).toBeLessThan(longestStallMs())
    expect(slowestMs).toBeLessThan(mostHealthMs())
  })
})

test('ten bodies of 31 MB at once leave the server alive, and some wait for others', { timeout: 120_000 }, async () => {
  const body = say('a '.repeat(15.5 * mega))
  const replies = await Promise.all(Array.from({ length: 10 }, () => post(chats, body)))
  expect(replies.map(({ status }) => status).filter((status) => status !== 200 && status !== 503 && status !== 413)).toEqual([])
  expect(replies.some(({ status }) => status === 200)).toBe(true)
  expect(await health({ url, pid })).toBeLessThan(mostHealthMs())
  expect(server.exitCode).toBeNull()
  // The room of all bodies is free again.
  expect((await post(chats, body)).status).toBe(200)
})
