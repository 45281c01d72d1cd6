import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { diffTurn } from './replay-diff.ts'

type Tokens = readonly (readonly [token: string, probability: number, other: number])[]
type Model = { readonly tokens?: Tokens; readonly thoughts?: string; readonly refusesLogprobs?: boolean }

const top = (token: string, probability: number) => ({ token, logprob: Math.log(probability) })

/** An answer in the protocol of a path; with log-probabilities if they are asked for as in that protocol. */
const replies: Readonly<Record<string, (body: Body, logprobs: unknown, thoughts: string | undefined) => object>> = {
  '/v1/chat/completions': (body, content, thoughts) => ({
    choices: [
      {
        message: { role: 'assistant', content: 'said', ...(thoughts !== undefined && { reasoning_content: thoughts }) },
        ...(body.logprobs === true && body.top_logprobs === 5 && { logprobs: { content } }),
      },
    ],
  }),
  '/v1/responses': (body, logprobs, thoughts) => ({
    output: [
      ...(thoughts === undefined ? [] : [{ type: 'reasoning', content: [{ type: 'reasoning_text', text: thoughts }] }]),
      { type: 'message', content: [{ type: 'output_text', text: 'said', ...(isIncluded(body) && { logprobs }) }] },
    ],
  }),
  '/api/chat': (body, logprobs, thinking) => ({
    message: { role: 'assistant', content: 'said', thinking },
    ...(body.logprobs === true && body.top_logprobs === 5 && { logprobs }),
  }),
  '/v1/messages': (_, __, thinking) => ({
    content: [
      { type: 'thinking', thinking },
      { type: 'text', text: 'said' },
    ],
  }),
}
type Body = {
  readonly model: string
  readonly logprobs?: boolean
  readonly top_logprobs?: number
  readonly include?: readonly string[]
}
const isIncluded = ({ include = [], top_logprobs }: Body) =>
  top_logprobs === 5 && include.includes('kept') && include.includes('message.output_text.logprobs')

/** The difference of the models `before` and `after` of a server, and the requests that it has got. */
async function compare(path: string, models: { readonly before: Model; readonly after: Model }) {
  const asked: string[] = []
  const server = createServer(async (request, response) => {
    const body: Body = JSON.parse(await text(request))
    const { tokens, thoughts, refusesLogprobs = false } = models[body.model as 'before' | 'after']
    asked.push(body.model)
    response.setHeader('content-type', 'application/json')
    if (refusesLogprobs && body.top_logprobs !== undefined) response.statusCode = 400
    const logprobs = tokens?.map(([token, probability, other]) => ({
      ...top(token, probability),
      top_logprobs: [top(token, probability), top('x', other)],
    }))
    response.end(JSON.stringify(replies[path]?.(body, logprobs, thoughts)))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = { url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}` }
  const body = { messages: [{ role: 'user', content: 'Hi' }], include: ['kept'] }
  const sides = { before: { address, model: 'before' }, after: { address, model: 'after' }, tellsDrift: true }
  return { ...(await diffTurn({ path, body }, sides)), asked }
}

const sure: Tokens = [
  ['It', 0.9, 0.1],
  ['is', 0.9, 0.1],
]
const unsure: Tokens = [
  ['It', 0.5, 0.5],
  ['is', 0.9, 0.1],
]
const chat = '/v1/chat/completions'

test.each<[string, Model, object | undefined]>([
  ['the same model', { tokens: sure }, { nats: 0, tokens: 2 }],
  ['one that says the same, less surely', { tokens: unsure }, { nats: expect.closeTo(0.368, 3), tokens: 2 }],
  [
    'one that says something else: what follows is not compared',
    {
      tokens: [
        ['Yes', 0.8, 0.1],
        ['!', 0.9, 0.1],
      ],
    },
    { nats: expect.closeTo(1.978, 3), tokens: 1 },
  ],
  ['one without log-probabilities', {}, undefined],
  ['one that has thought something else, after which other tokens are likely', { tokens: unsure, thoughts: 'Hm.' }, undefined],
])('the next tokens of a model are compared with those of %s', async (_, after, expected) => {
  expect((await compare(chat, { before: { tokens: sure }, after })).drift).toEqual(expected)
})

test.each([chat, '/v1/responses', '/api/chat'])(
  'with one request to each, %s tells how far two models are apart',
  async (path) => {
    const before = { tokens: sure, thoughts: 'Well.' }
    const { drift, asked, ...answers } = await compare(path, { before, after: { tokens: unsure, thoughts: 'Well.' } })
    expect(drift).toEqual({ nats: expect.closeTo(0.368, 3), tokens: 2 })
    expect(asked).toEqual(['before', 'after'])
    expect(answers.after).toMatchObject({ text: 'said', thoughts: 'Well.' })
    expect((await compare(path, { before, after: { tokens: unsure, thoughts: 'Hm.' } })).drift).toBeUndefined()
  },
)

test('Messages have no log-probabilities', async () => {
  const { drift, asked } = await compare('/v1/messages', { before: { tokens: sure }, after: { tokens: sure } })
  expect([drift, asked]).toEqual([undefined, ['before', 'after']])
})

test('a server that refuses log-probabilities is asked without them', async () => {
  const { drift, asked, after } = await compare(chat, { before: { tokens: sure }, after: { refusesLogprobs: true } })
  expect([drift, asked]).toEqual([undefined, ['before', 'after', 'after']])
  expect(after).toMatchObject({ text: 'said' })
  expect(after.failure).toBeUndefined()
})
