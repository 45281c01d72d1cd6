import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeCoarse } from '../../../bench/sessions/coarse-copy.ts'
import { createDragoman } from '../../../src/app/create-dragoman.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { roundsOf } from '../../support/process/soak-length.ts'

const program = join(import.meta.dirname, '../../../dist/cli/program.js')
/** As a template whose roles, calls and results the model was not trained with. */
const brokenTemplate = '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}'
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]
const questions = [
  'What is the weather in %?',
  'What is the capital of Norway?',
  'Hello from %!',
  'Is it warm in % now?',
  'I am in %. Thanks!',
]
const cities = ['Oslo', 'Paris', 'Rome', 'Madrid', 'Berlin', 'Vienna', 'Lisbon', 'Prague', 'Warsaw', 'Athens']
/** Fifty at full length. */
const turns = cities.slice(0, roundsOf(3, 10)).flatMap((city) => questions.map((question) => question.replace('%', city)))
const count = turns.length

let folder: string
let dragoman: Awaited<ReturnType<typeof createDragoman>>
let url: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dragoman-diff-'))
  const chatTemplate = join(folder, 'broken.jinja')
  await writeFile(chatTemplate, brokenTemplate)
  const coarse = join(folder, 'coarse.gguf')
  await writeCoarse(coarse, { from: builtinModel.path, bits: 2 })
  const tiny = { engine: 'llama', source: 'builtin:dragoman-tiny.gguf' } as const
  dragoman = await createDragoman({
    config: {
      server: { port: 0 },
      builtinModel: false,
      models: [
        { id: 'tiny', ...tiny },
        { id: 'broken', ...tiny, chatTemplate },
        { id: 'coarse', ...tiny, source: coarse },
      ],
    },
  })
  url = await dragoman.listen()
  for (const [index, content] of turns.entries()) {
    const body = { model: 'tiny', messages: [{ role: 'user', content }], tools, max_tokens: 40, stream: true }
    await writeFile(
      join(folder, `${index}.json`),
      JSON.stringify({ method: 'POST', path: '/v1/chat/completions', headers: {}, body }),
    )
  }
})
afterAll(async () => {
  await dragoman.close()
  await rm(folder, { recursive: true })
})

async function diffAgainst(model: string, more: readonly string[] = [], server = url) {
  const args = [program, 'replay', folder, '--against', model, '--diff', '--server', server, ...more]
  const failed = (error: { code: number; stdout: string; stderr: string }) => ({ ...error, stdout: error.stdout + error.stderr })
  const { stdout, ...rest } = await promisify(execFile)(process.execPath, args).catch(failed)
  return { code: 'code' in rest ? rest.code : 0, output: stdout }
}

test('captured turns are the same on the same model', async () => {
  const { code, output } = await diffAgainst('tiny')
  expect(output).toMatch(new RegExp(`^0 of ${count} turns changed.*nats: the same weights`, 'm'))
  expect(code).toBe(0)
})

test('coarse weights are found with fifty captured turns, or fewer, also where they say the same', async () => {
  const { code, output } = await diffAgainst('coarse')
  expect(output).toMatch(/next tokens differ by 0\.\d+ nats: coarse weights/)
  expect(code).toBe(1)
})

test('a model with a broken template is found with fifty captured turns, or fewer', async () => {
  const { code, output } = await diffAgainst('broken')
  expect(Number(/^(\d+) of \d+ turns changed/m.exec(output)?.[1])).toBeGreaterThan(count / 5)
  expect(output).toMatch(/: calls: get_weather/)
  expect(code).toBe(1)
})

test('a judge that cannot tell an answer from that to another question gives verdicts, and is not believed', async () => {
  const { code, output } = await diffAgainst('coarse', ['--judge', 'tiny'])
  expect(output).toMatch(/other words, judged: ((better|alike|worse) \d+(, )?)+;/)
  expect(output).toMatch(/^the judge finds [0-6] of (9|10) answers to other questions worse: it cannot tell$/m)
  expect(code).toBe(1)
})

test('a judge finds answers of other words worse', async () => {
  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') return response.end('{"object":"list","data":[{"id":"wise","object":"model"}]}')
    const { model, messages } = JSON.parse(await text(request))
    const said = model === 'other' ? 'A bad answer.' : 'A good answer.'
    const verdict = { better: /Answer A:\nA good/.test(messages.at(-1).content) ? 'A' : 'B' }
    const content = model === 'wise' ? JSON.stringify(verdict) : said
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
    response.end(JSON.stringify({ object: 'chat.completion', model, choices: [choice] }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await diffAgainst('other', [], own)).toMatchObject({
    code: 0,
    output: expect.stringContaining(`0 of ${count} turns changed`),
  })
  const judged = await diffAgainst('other', ['--judge', own], own)
  server.close()
  expect(judged.output).toMatch(/: worse: "?A good answer\..* became /)
  expect(judged).toMatchObject({
    code: 1,
    output: expect.stringMatching(
      new RegExp(`^${count} of ${count} turns changed \\(worse ${count}\\).*judged: worse ${count}`, 'm'),
    ),
  })
})
