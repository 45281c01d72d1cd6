import type { z } from 'zod'
import type { caseSchema } from './case.ts'

export type OurCase = z.input<typeof caseSchema> & { readonly name: string }
export type Json = Record<string, unknown>

export const tool = (name: string, properties: Json = {}) => ({
  type: 'function',
  function: { name, description: 'd', parameters: { type: 'object', properties } },
})
export const weather = [tool('get_weather', { city: { type: 'string' } })]
export const say = [tool('say', { n: { type: 'integer' }, s: { type: 'string' } })]

export const ok = { status: true, equals: 200 } as const
export const content = 'choices.0.message.content'
export const callArguments = 'choices.0.message.tool_calls.0.function.arguments'
export const calls = (name: string, json: unknown) => [
  { path: 'choices.0.message.tool_calls.0.function.name', equals: name },
  { path: callArguments, json },
  { path: content, absent: true as const },
  { path: 'choices.0.finish_reason', equals: 'tool_calls' },
]
export const callsNothing = (shown: string) => [
  { path: 'choices.0.message.tool_calls', absent: true as const },
  { path: content, includes: shown },
]

export const chat = (body: Json) => ({ path: '/v1/chat/completions', body: { model: 'MODEL', ...body } })
export const user = (text: string) => [{ role: 'user', content: text }]
/** One request whole, and one streamed. */
export const wholeAndStreamed = (body: Json) => [false, true].map((stream) => chat({ stream, ...body }))

export const delta = (part: Json, finish: string | null = null) => ({
  choices: [{ index: 0, delta: part, finish_reason: finish }],
})
export const upstreamCall = (name: string, pieces: readonly string[]) => [
  {
    sse: [
      delta({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name, arguments: '' } }] }),
      ...pieces.map((piece) => delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      delta({}, 'tool_calls'),
    ],
  },
]
