import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { piecesOf, readStream } from '../../../../../test/support/http/read-stream.ts'

const file = new URL('../../../../../../shared/vectors/sse/torture.json', import.meta.url)
const recordings = new URL('../../../../../../shared/vectors/recordings/', import.meta.url)
const available = existsSync(file)

type Vector = {
  readonly id: string
  readonly bytes_b64?: string
  readonly expect: {
    readonly outcome: string
    readonly dialect?: string
    readonly text?: string
    readonly reasoning?: string
    readonly finish_reason?: string
    readonly error_message?: string
    readonly tool_calls?: readonly { id: string; name: string; arguments: string }[]
    readonly choices?: readonly { text: string }[]
  }
}

const vectors: readonly Vector[] = available ? JSON.parse(readFileSync(file, 'utf8')).vectors : []
describe.skipIf(!available)('streams of other servers', () => {
  const cases = vectors.filter(({ bytes_b64, expect: wanted }) => bytes_b64 !== undefined && wanted.dialect === undefined)

  test.each(cases.flatMap((vector) => [1, 7, 65_536].map((size) => ({ ...vector, size }))))(
    '$id, in pieces of $size bytes',
    async ({ id, bytes_b64, expect: wanted, size }) => {
      const bytes = Buffer.from(bytes_b64 ?? '', 'base64')
      const seen = await readStream(piecesOf(bytes, size), {
        choices: wanted.choices?.length ?? 1,
        ...(id === 'json-body-instead-of-sse' && { contentType: 'application/json' }),
      })
      if (wanted.choices === undefined) expect(seen.texts[0] ?? '').toBe(wanted.text)
      else expect(seen.texts).toEqual(wanted.choices.map(({ text }) => text))
      expect(seen.reasoning).toBe(wanted.reasoning ?? '')
      const isWhole = wanted.outcome.startsWith('complete')
      expect(seen.error === undefined).toBe(isWhole)
      if (wanted.error_message !== undefined) expect(seen.error?.message).toContain(wanted.error_message)
      const parsed = (calls: readonly { arguments: string }[]) =>
        calls.map((call) => ({ ...call, arguments: JSON.parse(call.arguments) }))
      if (isWhole) expect(parsed(seen.calls)).toEqual(parsed(wanted.tool_calls ?? []))
      if (wanted.finish_reason === 'stop') expect(seen.finish[0]).toBe('stop')
      if (wanted.tool_calls !== undefined) expect(seen.finish[0]).toBe('tool-calls')
    },
  )

  test.each([
    ['openai/chat-openai-text', { calls: [], reasoning: false }],
    ['deepseek/chat-deepseek-text', { calls: [], reasoning: false }],
    ['deepseek/chat-deepseek-reasoning', { calls: [], reasoning: true }],
    ['deepseek/chat-deepseek-tool-call', { calls: ['weather'], reasoning: true }],
    ['mistral/mistral-text', { calls: [], reasoning: false }],
    ['mistral/mistral-tool-call', { calls: ['weather'], reasoning: false }],
  ])('the recording %s is read completely', async (name, wanted) => {
    const lines = readFileSync(new URL(`${name}.chunks.txt`, recordings), 'utf8')
      .trim()
      .split('\n')
    const stream = `${lines.map((line) => `data: ${line}\n\n`).join('')}data: [DONE]\n\n`
    const seen = await readStream([Buffer.from(stream)])
    const said = lines.flatMap((line) => JSON.parse(line).choices).map(({ delta }) => delta?.content ?? '')
    expect(seen.error).toBeUndefined()
    expect(seen.texts[0] ?? '').toBe(said.join(''))
    expect(seen.calls.map((call) => call.name)).toEqual(wanted.calls)
    for (const call of seen.calls) expect(JSON.parse(call.arguments)).toEqual(expect.any(Object))
    expect(seen.reasoning !== '').toBe(wanted.reasoning)
    const finish = lines.flatMap((line) => JSON.parse(line).choices).map(({ finish_reason }) => finish_reason)
    expect(seen.finish[0]).toBe(finish.findLast((reason) => reason !== null).replace('_', '-'))
  })
})
