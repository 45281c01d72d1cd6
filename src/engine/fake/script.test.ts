import { describe, expect, test } from 'vitest'
import type { AppError } from '../../contract/errors.ts'
import { type Prompt, plainChat } from '../../contract/request.ts'
import { parseScriptFile, type Script, scriptFromRequest } from './script.ts'

function chat(...texts: string[]): Prompt {
  return {
    type: 'chat',
    ...plainChat,
    messages: texts.map((text) => ({ role: 'user', content: [{ type: 'text', text }] })),
  }
}

function failure(run: () => unknown): AppError {
  try {
    run()
  } catch (error) {
    return error as AppError
  }
  throw new Error('nothing was thrown')
}

describe('a script from the request', () => {
  test('an ordinary message is echoed in pieces of about a word', () => {
    expect(scriptFromRequest(chat('first', ' Hello  big\nworld '))).toEqual({
      chunks: [' Hello', '  big', '\nworld', ' '],
      delayMs: 0,
      finish: 'stop',
    })
  })

  test.each(['[1, 2]', '"text"', '42', '{not json', '{"cut": '])('%s is not an object, so it is echoed', (text) => {
    expect(scriptFromRequest(chat(text)).chunks.join('')).toBe(text)
  })

  test('an object sets every field', () => {
    const text = JSON.stringify({ chunks: ['te', 'xt'], delayMs: 5, finish: 'length', failAfter: 0 })
    expect(scriptFromRequest(chat(text))).toEqual({ chunks: ['te', 'xt'], delayMs: 5, finish: 'length', failAfter: 0 })
  })

  test('chunks and raw may both be given when they are the same text', () => {
    expect(scriptFromRequest(chat('{"raw": "text", "chunks": ["te", "xt"]}')).chunks).toEqual(['te', 'xt'])
    expect(failure(() => scriptFromRequest(chat('{"raw": "text", "chunks": ["te"]}')))).toMatchObject({ param: 'chunks' })
  })

  test.each([
    ['{}', 'raw'],
    ['{"raw": 1}', 'raw'],
    ['{"raw": "a", "delayMs": -1}', 'delayMs'],
    ['{"raw": "a", "finish": "tool"}', 'finish'],
    ['{"raw": "a", "failAfter": 1.5}', 'failAfter'],
    ['{"chunks": ["a", 2]}', 'chunks[1]'],
    ['{"raw": "a", "delay": 5}', 'delay'],
  ])('%s is refused, naming %s', (text, param) => {
    const error = failure(() => scriptFromRequest(chat(text)))
    expect(error).toMatchObject({ code: 'invalid-request', param })
    expect(error.message).toContain(`'${param}'`)
  })

  test('a prompt that is a text is the script itself', () => {
    expect(scriptFromRequest({ type: 'text', text: '{"raw": "one two"}' }).chunks).toEqual(['one', ' two'])
  })

  test('a conversation without a user message gets an empty reply', () => {
    expect(scriptFromRequest({ type: 'chat', messages: [], ...plainChat }).chunks).toEqual([])
  })
})

describe('a script file', () => {
  const script: Script = parseScriptFile(
    `
- match: "weather in (\\\\w+)"
  reply: { raw: "It rains in $1, for $5 and $$.", delayMs: 2 }
- match: "^add (?<left>\\\\d+) (\\\\d+)?"
  reply: { chunks: ["$1+", "$2"] }
- reply: { raw: "no $1 here", finish: length }
`,
    'script.yaml',
  )

  test('the first match on the last user message wins, and its groups are filled in', () => {
    const reply = script(chat('add 1', 'What is the weather in Paris?'))
    expect(reply.chunks.join('')).toBe('It rains in Paris, for $5 and $$.')
    expect(reply.delayMs).toBe(2)
  })

  test('groups are filled in inside chunks, and a group that matched nothing is empty', () => {
    expect(script(chat('add 3 ')).chunks).toEqual(['3+', ''])
  })

  test('an entry without a match is the fallback', () => {
    expect(script(chat('hi'))).toMatchObject({ chunks: ['no', ' $1', ' here'], finish: 'length' })
  })

  test('an entry with a result waits for that of a tool, which came since the model spoke', () => {
    const loop = parseScriptFile(
      '[{ result: "([0-9]+) degrees", reply: { raw: "$1!" } }, { match: weather, reply: { raw: call } }]',
      's.yaml',
    )
    const question = chat('weather?')
    if (question.type !== 'chat') throw new Error('expected a chat')
    const answered: Prompt = {
      ...question,
      messages: [
        ...question.messages,
        { role: 'assistant', parts: [{ type: 'tool-call', id: 't', name: 'f', input: '{}' }] },
        { role: 'tool', toolCallId: 't', content: [{ type: 'text', text: '21 degrees' }] },
        ...question.messages,
      ],
    }
    expect(loop(question).chunks).toEqual(['call'])
    expect(loop(answered).chunks).toEqual(['21!'])
    const asked: Prompt = {
      ...answered,
      messages: [...answered.messages, { role: 'assistant', parts: [] }, ...question.messages],
    }
    expect(loop(asked).chunks).toEqual(['call'])
  })

  test('no match is the request’s fault, and says so', () => {
    const only = parseScriptFile('[{ match: "^a$", reply: { raw: b } }]', 's.yaml')
    expect(failure(() => only(chat('c')))).toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining("no entry of the fake engine's script 's.yaml' matches"),
    })
  })

  test.each([
    ['{ a: 1 }', 'expected array'],
    ['[]', 'expected array'],
    ['[{ match: "(", reply: { raw: a } }]', '[0].match'],
    ['[{ result: "(", reply: { raw: a } }]', '[0].result'],
    ['[{ reply: { text: a } }]', '[0].reply'],
    ['[{ reply: { raw: a }, matches: b }]', '[0].matches'],
    ['[unclosed', 'not YAML'],
  ])('%s fails at load, saying where', (yaml, where) => {
    const error = failure(() => parseScriptFile(yaml, 's.yaml'))
    expect(error.code).toBe('model-unavailable')
    expect(error.message).toContain('s.yaml')
    expect(error.message).toContain(where)
  })
})
