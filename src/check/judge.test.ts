import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { Answer } from './compare.ts'
import { judge, tryJudge } from './judge.ts'

const turn = { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'The capital of Norway?' }] } }
type Verdict = (a: string, b: string, asks: string) => string
const answer = (said: string): Answer => ({ text: said, calls: [], outputTokens: 4, ms: 1 })
const answers = { before: answer('It is Oslo.'), after: answer('It is Bergen.') }

/** A judge that is asked for its verdict with the texts of both answers, after the conversation. */
async function startJudge(verdict: Verdict) {
  const asked: { readonly model: string; readonly temperature: number }[] = []
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request))
    asked.push(body)
    const [, asks = '', a = '', b = ''] = /^(.*)Answer A:\n(.*)\n\nAnswer B:\n(.*)$/s.exec(body.messages[1].content) ?? []
    const message = { role: 'assistant', content: verdict(a, b, asks) }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] }))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  return { asked, side: { address: { url: `http://127.0.0.1:${port}` }, model: 'wise' } }
}

async function judgeBy(verdict: Verdict) {
  const { asked, side } = await startJudge(verdict)
  return { given: await judge(turn, answers, side), asked }
}

const better = (letter: string) => JSON.stringify({ better: letter })
const prefers = (word: string) => (a: string, b: string) => better(a.includes(word) ? 'A' : b.includes(word) ? 'B' : 'neither')

test.each([
  ['worse, if the judge prefers the first in both orders', prefers('Oslo'), 'worse'],
  ['better, if it prefers the second in both orders', prefers('Bergen'), 'better'],
  ['alike, if it always prefers the same place', () => better('A'), 'alike'],
  ['alike, if it prefers neither', () => better('neither'), 'alike'],
  [
    'worse, also if the verdict has words around it',
    (a: string, b: string) => `{A} <b>\n${prefers('Oslo')(a, b)}\n\`\`\``,
    'worse',
  ],
  ['not judged, if the reply is no verdict', () => 'I like both.', undefined],
])('an answer is %s', async (_, verdict, expected) => {
  expect((await judgeBy(verdict)).given).toBe(expected)
})

const cities = ['Oslo', 'Paris', 'Rome', 'Oslo']
const answered = cities.map((city) => ({
  turn: { ...turn, body: { messages: [{ role: 'user', content: `Which city is ${city}?` }] } },
  answer: answer(`${city}.`),
}))
test.each([
  [
    'that knows',
    (a: string, b: string, asks: string) => better([a, b].findIndex((one) => asks.includes(one.slice(0, -1))) === 0 ? 'A' : 'B'),
    4,
  ],
  ['that prefers a place', () => better('B'), 0],
  ['that prefers nothing', () => better('neither'), 0],
  ['that gives no verdict', () => 'Both are fine.', 0],
])('a judge %s is tried with answers to other questions', async (_, verdict, found) => {
  const { side } = await startJudge(verdict)
  expect(await tryJudge(answered, side)).toEqual({ found, of: 4 })
  expect(await tryJudge(answered.slice(0, 1), side)).toEqual({ found: 0, of: 0 })
})

test('a judge that refuses fails the comparison, which would be without it', async () => {
  const server = createServer((_, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"there is no model \'wise\'"}}')
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  const asked = judge(turn, answers, { address: { url: `http://127.0.0.1:${port}` }, model: 'wise' })
  await expect(asked).rejects.toThrow("does not answer: there is no model 'wise'")
})

test('a judge is asked twice, without chance, for the conversation and both answers', async () => {
  const { asked } = await judgeBy(prefers('Oslo'))
  expect(asked).toMatchObject([
    { model: 'wise', temperature: 0, response_format: { type: 'json_schema' } },
    { model: 'wise', temperature: 0 },
  ])
  expect(JSON.stringify(asked[0])).toContain('The capital of Norway?')
})
