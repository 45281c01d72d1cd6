import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { answer, ask, engineOver, refusing, upstream } from '../../../../../test/support/upstream/remote-engine.ts'
import { type Answer, streamOf } from '../../../../../test/support/upstream/upstream.ts'
import { callsOf, textOf } from '../../../../canonical/parts.ts'

const recordings = new URL('../../../../../../shared/vectors/recordings/anthropic/', import.meta.url)
const available = existsSync(recordings)

type Wanted = { readonly text: RegExp; readonly calls: readonly string[]; readonly outputTokens: number }

/** What the engine makes of a reply of Messages. */
async function read(reply: Answer) {
  const tools = ['json', 'updateIssueList'].map((name) => ({ name, parameters: { type: 'object' } }))
  const engine = engineOver([await upstream(reply)], { protocol: 'messages' })
  const { choices, usage } = await answer(engine, ask('hi', {}, tools))
  const { parts = [], finish } = choices[0] ?? {}
  return { text: textOf(parts), calls: callsOf(parts), finish, usage }
}

function contentOf(name: string): string {
  return readFileSync(new URL(name, recordings), 'utf8')
}

describe.skipIf(!available)('the recorded reply', () => {
  const cases: readonly [string, Wanted][] = [
    ['anthropic-text', { text: /^Hello! I'm doing well.*\?$/s, calls: [], outputTokens: 30 }],
    ['anthropic-tool-no-args', { text: /^I'll update/, calls: ['updateIssueList'], outputTokens: 48 }],
    ['anthropic-json-tool.1', { text: /^$/, calls: ['json'], outputTokens: 47 }],
    ['anthropic-json-tool.2', { text: /^I'll invoke/, calls: ['json'], outputTokens: 47 }],
  ]

  test.each(cases)('%s is read completely, as a stream', async (name, { text, calls, outputTokens }) => {
    const lines = contentOf(`${name}.chunks.txt`).trim().split('\n')
    const events = lines.map((line) => `event: ${JSON.parse(line).type}\ndata: ${line}\n\n`)
    const seen = await read(streamOf(...events))
    expect(seen.text).toMatch(text)
    expect(seen.calls.map((call) => call.name)).toEqual(calls)
    for (const { input, state } of seen.calls) expect([JSON.parse(input), state]).toEqual([expect.any(Object), undefined])
    expect(seen.usage).toMatchObject({ outputTokens })
    expect(seen.finish).toEqual({ reason: calls.length > 0 ? 'tool-calls' : 'stop' })
  })

  test.each(['anthropic-text', 'anthropic-tool-no-args', 'anthropic-json-tool.1'])('%s is read as a whole', async (name) => {
    const reply = JSON.parse(contentOf(`${name}.json`))
    const seen = await read(refusing(200, JSON.stringify(reply)))
    type Block = { readonly type: string; readonly text?: string; readonly name?: string; readonly input?: unknown }
    const blocks: readonly Block[] = reply.content
    expect(seen.text).toBe(blocks.map(({ text = '' }) => text).join(''))
    expect(seen.calls.map(({ name: called, input }) => ({ name: called, input: JSON.parse(input) }))).toEqual(
      blocks.filter(({ type }) => type === 'tool_use').map(({ name: called, input }) => ({ name: called, input })),
    )
    expect(seen.usage.outputTokens).toBe(reply.usage.output_tokens)
  })
})
