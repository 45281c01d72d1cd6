import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { driftOf } from './drift.ts'

type Tokens = readonly (readonly [token: string, probability: number, other: number])[]

/** A server whose models expect these tokens, each before another one, `x`. */
async function serverOf(models: Readonly<Record<string, Tokens | undefined>>) {
  const server = createServer(async (request, response) => {
    const { model, logprobs } = JSON.parse(await text(request))
    const top = (token: string, probability: number) => ({ token, logprob: Math.log(probability) })
    const content = models[model]?.map(([token, probability, other]) => ({
      ...top(token, probability),
      top_logprobs: [top(token, probability), top('x', other)],
    }))
    const choice = { index: 0, message: { role: 'assistant', content: 'said' }, finish_reason: 'stop' }
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ object: 'chat.completion', choices: [{ ...choice, ...(logprobs && { logprobs: { content } }) }] }),
    )
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = { url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}` }
  return (model: string) => ({ address, model })
}

const sure: Tokens = [
  ['It', 0.9, 0.1],
  ['is', 0.9, 0.1],
]
const turn = { path: '/v1/chat/completions', body: { messages: [{ role: 'user', content: 'Hi' }] } }

test.each<[string, Tokens | undefined, object | undefined]>([
  ['the same model', sure, { nats: 0, tokens: 2 }],
  [
    'one that says the same, less surely',
    [
      ['It', 0.5, 0.5],
      ['is', 0.9, 0.1],
    ],
    { nats: expect.closeTo(0.368, 3), tokens: 2 },
  ],
  [
    'one that says something else: what follows is not compared',
    [
      ['Yes', 0.8, 0.1],
      ['!', 0.9, 0.1],
    ],
    { nats: expect.closeTo(1.978, 3), tokens: 1 },
  ],
  ['one without log-probabilities', undefined, undefined],
])('the next tokens of a model are compared with those of %s', async (_, tokens, expected) => {
  const side = await serverOf({ before: sure, after: tokens })
  expect(await driftOf(turn, side('before'), side('after'))).toEqual(expected)
})

test('protocols without log-probabilities of each token are not asked', async () => {
  const side = await serverOf({ before: sure, after: sure })
  expect(await driftOf({ ...turn, path: '/v1/messages' }, side('before'), side('after'))).toBeUndefined()
})
