import { describe, expect, test } from 'vitest'
import { cpuMsOf } from '../../test/support/process/cpu-time.ts'
import { AppError } from './errors.ts'
import { field, fillFields, formatPath } from './field.ts'

const open = '\ue000'
const close = '\ue001'
const shout = (path: readonly (string | number)[]) => path.join('/').toUpperCase()

describe('a path in a canonical request', () => {
  test.each([
    [[], ''],
    [['model'], 'model'],
    [['sampling', 'topP'], 'sampling.topP'],
    [['texts', 2], 'texts[2]'],
    [['prompt', 'messages', 3, 'content', 0], 'prompt.messages[3].content[0]'],
  ])('%j reads as %j', (path, text) => {
    expect(formatPath(path)).toBe(text)
    expect(fillFields(`see ${field(...path)}!`, formatPath)).toBe(`see ${text}!`)
  })

  test('is named when the message is filled, each on its own', () => {
    const message = `${field('a', 1)} is more than ${field('b')}, and ${field('a', 1)} too`
    expect(fillFields(message, shout)).toBe('A/1 is more than B, and A/1 too')
  })

  test('may contain any text: quotes, and the characters of placeholders', () => {
    const step = `"${close}]${open}["x"]${close}\\`
    const seen: unknown[] = []
    fillFields(field('tools', 0, step), (path) => {
      seen.push(path)
      return ''
    })
    expect(seen).toEqual([['tools', 0, step]])
  })

  test('keeps dollars and placeholders in names unchanged', () => {
    const name = `$& $1 ${field('other')}`
    expect(fillFields(`<${field('a')}>`, () => name)).toBe(`<${name}>`)
  })
})

describe('a text that is not a placeholder', () => {
  test.each([
    'plain',
    open,
    close,
    `${open}${close}`,
    `${open}no json${close}`,
    `${open}{"a":1}${close}`,
    `${open}"model"${close}`,
    `${open}null${close}`,
    `${open}[null]${close}`,
    `${open}[["model"]]${close}`,
    `${open}[{"toString":1}]${close}`,
    `${close}["model"]${open}`,
    `${open}["model"]`,
    `["model"]${close}`,
    open.repeat(1000) + close.repeat(1000),
  ])('stays what it is: %j', (text) => {
    expect(fillFields(text, shout)).toBe(text)
    expect(new AppError('invalid-request', text).message).toBe(text)
    expect(new AppError('invalid-request', text).inWordsOf(shout).message).toBe(text)
  })

  test('is parsed in linear time', async () => {
    const hostile = `${open}[`.repeat(200_000)
    expect(await cpuMsOf(() => fillFields(hostile, shout))).toBeLessThan(1000)
  })
})

describe('an error that names paths', () => {
  const cause = new Error('why')
  const overflow = { inputTokens: 9, contextLength: 4 }

  test('has canonical names until the dialect translates them', () => {
    const error = new AppError('invalid-request', `${field('sampling', 'topP')} is 2`, { at: ['sampling', 'topP'] })
    expect(error.message).toBe('sampling.topP is 2')
    expect(error.param).toBeUndefined()
    expect(error.inWordsOf(() => 'top_p')).toMatchObject({ message: 'top_p is 2', param: 'top_p', code: 'invalid-request' })
  })

  test('keeps its other fields when translated, and the original as cause', () => {
    const error = new AppError('queue-full', `see ${field('model')}`, { at: ['model'], retryAfterMs: 7, overflow, cause })
    const named = error.inWordsOf(shout)
    expect(named).toMatchObject({ code: 'queue-full', message: 'see MODEL', param: 'MODEL', retryAfterMs: 7, overflow })
    expect(named.at).toBeUndefined()
    expect(named.cause).toBe(error)
    expect(error.cause).toBe(cause)
  })

  test('loses nothing that the runner of its request acts on when translated', () => {
    const options = { mostOutputTokens: 9, keepsOutput: 'length', preparesAgain: true, stopsRun: true } as const
    expect(new AppError('cancelled', 'no', { at: ['model'], ...options }).inWordsOf(shout)).toMatchObject(options)
  })

  test('gets a param only where it has a path', () => {
    const named = new AppError('invalid-request', `see ${field('model')}`, { param: 'mine' }).inWordsOf(shout)
    expect(named).toMatchObject({ message: 'see MODEL', param: 'mine' })
  })

  test('without paths stays unchanged', () => {
    const error = new AppError('invalid-request', 'no', { param: 'mine' })
    expect(error.inWordsOf(shout)).toBe(error)
  })

  test('is not translated twice', () => {
    const named = new AppError('invalid-request', `see ${field('model')}`, { at: ['model'] }).inWordsOf(shout)
    expect(named.inWordsOf(() => 'another')).toBe(named)
  })

  test('can be quoted by another, whose translation covers both', () => {
    const inner = new AppError('invalid-request', `${field('prompt')} is too long`)
    const outer = new AppError('invalid-request', `${field('texts', 1)}: ${inner.template}`, { at: ['texts', 1] })
    expect(outer.inWordsOf(shout).message).toBe('TEXTS/1: PROMPT is too long')
  })
})
