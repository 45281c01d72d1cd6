import { afterAll, describe, expect, test } from 'vitest'
import { contextOf } from '../../../test/support/http/context.ts'
import { callsIn } from '../../../test/support/parts.ts'
import { playingEngine, shortUsage, stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import type { PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { type CustomTool, type GenerationRequest, plainChat, plainRequest } from '../../contract/request.ts'
import { foldEvents } from '../../contract/result.ts'
import { OutputValidator } from '../../threads/output-validator.ts'
import { generate } from '../generate.ts'

const validator = new OutputValidator()
afterAll(() => validator.close())

const lines: CustomTool = {
  type: 'custom',
  name: 'edit',
  grammar: { syntax: 'lark', definition: 'start: line+\nline: ("+" | "-") /.*/ LF\n%import common.LF' },
}
const word: CustomTool = { type: 'custom', name: 'edit', grammar: { syntax: 'regex', definition: '[a-z]+|[A-Z]+' } }

const requestOf = (tool: CustomTool): GenerationRequest => {
  const prompt = { type: 'chat', ...plainChat, messages: [], tools: [{ name: 'f' }, tool] } as const
  return { ...plainRequest, id: 'r', model: 'm', prompt }
}
const callOf = (json: string): EngineEvent[] => [
  { type: 'raw-text', choice: 0, text: `<tool_call>{"name": "edit", "arguments": ${json}}</tool_call>` },
  { type: 'finish', choice: 0, reason: 'stop' },
  shortUsage,
]

async function inputOf(tool: CustomTool, json: string, prepared: Partial<PreparedGeneration> = {}) {
  const engine = playingEngine(callOf(json), { outputFormat: { toolFormat: 'hermes', startsInReasoning: false }, ...prepared })
  const result = await foldEvents(generate({ now: () => 0, validator }, [requestOf(tool)], contextOf(engine)))
  return callsIn(result)[0]
}

/** What an engine gets, which answers nothing. */
async function askedOf(tool: CustomTool): Promise<unknown> {
  let asked: GenerationRequest | undefined
  const engine = stubEngine({
    prepare: async (given) => {
      asked = given
      return playingEngine([{ type: 'finish', choice: 0, reason: 'stop' }, shortUsage]).prepare(
        given,
        new AbortController().signal,
      )
    },
  })
  await foldEvents(generate({ now: () => 0, validator }, [requestOf(tool)], contextOf(engine)))
  return asked?.prompt.type === 'chat' ? asked.prompt.tools[1] : undefined
}

describe('the grammar of a custom tool', () => {
  test('the grammar is a pattern for everyone where it is a regular expression', async () => {
    const input = { type: 'string', pattern: '^(?:[a-z]+|[A-Z]+)$' }
    const properties = { properties: { input } }
    expect(await askedOf(word)).toMatchObject({ strict: true, parameters: properties, enforced: properties })
  })

  test('the grammar is known to engines of ours only where it is context-free', async () => {
    const input = { type: 'string', 'x-dragoman-gbnf': expect.stringMatching(/^root ::= /) }
    expect(await askedOf(lines)).toMatchObject({
      strict: true,
      parameters: { properties: { input: { type: 'string' } } },
      enforced: { properties: { input }, required: ['input'], additionalProperties: false },
    })
    expect(JSON.stringify(((await askedOf(lines)) as { parameters: unknown }).parameters)).not.toContain('gbnf')
  })

  test.each([
    [lines, '{"input": "+a\\n-\\n"}', '+a\n-\n'],
    [word, '{"input": "abc"}', 'abc'],
  ])('the grammar allows %j %s', async (tool, json, input) => {
    expect(await inputOf(tool, json)).toMatchObject({ kind: 'custom', input })
  })

  test.each([
    [lines, '{"input": "+a\\nb\\n"}'],
    [lines, '{"input": ""}'],
    [word, '{"input": "aB"}'],
    [word, '{"input": "a\\n"}'],
    [word, '{"input": 5}'],
  ])('the grammar ends a call that it does not allow in an error: %j %s', async (tool, json) => {
    for (const callsAreCertain of [false, true]) {
      await expect(inputOf(tool, json, { callsAreCertain })).rejects.toMatchObject({
        code: 'invalid-output',
        message: expect.stringContaining("the model called the tool 'edit' with an invalid input: /input"),
      })
    }
  })

  test('the grammar is applied to the best reading of the arguments', async () => {
    expect(await inputOf(word, '{"word": "abc"}')).toMatchObject({ input: 'abc', state: 'repaired' })
  })

  test.each<[CustomTool['grammar'], string, string]>([
    [{ syntax: 'lark', definition: 'start: "a"\nb: x' }, 'invalid-request', "line 2: 'x' is not defined"],
    [{ syntax: 'lark', definition: 'start: a{b}' }, 'unsupported-field', 'line 1: templates cannot be used'],
    [{ syntax: 'regex', definition: '(' }, 'invalid-request', "'(' is not an ECMAScript regular expression"],
    [{ syntax: 'regex', definition: '(a)\\1' }, 'unsupported-field', 'back-reference'],
  ])('the grammar is refused at its place, before anything runs: %j', async (grammar, code, message) => {
    await expect(askedOf({ type: 'custom', name: 'edit', ...(grammar && { grammar }) })).rejects.toMatchObject({
      code,
      at: ['prompt', 'tools', 1, 'grammar', 'definition'],
      message: expect.stringContaining(message),
    })
  })

  describe('is not read', () => {
    const definition = `start: ${Array.from({ length: 300 }, (_, index) => `/(a|b)*a(a|b){${index % 9}}${index}/`).join(' | ')}`
    const grammar = { syntax: 'lark', definition } as const
    const place = ['prompt', 'tools', 0, 'grammar', 'definition']
    const { signal } = new AbortController()

    test('past the time limit, which is said at its place', async () => {
      const hasty = new OutputValidator({ grammarTimeoutMs: 1 })
      await expect(hasty.inputSchema(grammar, { place, signal })).rejects.toMatchObject({ code: 'unsupported-field', at: place })
      await hasty.close()
    })

    test('for a caller that has left, nor by a server that shuts down', async () => {
      const patient = new OutputValidator()
      const leaving = new AbortController()
      const left = patient.inputSchema(grammar, { place, signal: leaving.signal })
      leaving.abort(new AppError('cancelled', 'the client is gone'))
      await expect(left).rejects.toMatchObject({ code: 'cancelled' })
      const [closing] = await Promise.allSettled([patient.inputSchema(grammar, { place, signal }), patient.close()])
      expect(closing).toMatchObject({ status: 'rejected', reason: { code: 'shutting-down' } })
    })
  })
})
