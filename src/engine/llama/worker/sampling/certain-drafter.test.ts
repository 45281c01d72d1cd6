import { describe, expect, test } from 'vitest'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Round } from '../rounds/rounds.ts'
import { CertainDrafts } from './certain-drafter.ts'
import type { Drafter } from './speculation.ts'

/** Each character is a token. */
const model = { tokenize: (text: string) => Array.from(text, (char) => char.charCodeAt(0) as Token) }
const alone: Round = { tokens: 1, prompts: 0, tokensMs: 10 }
const textOf = (tokens: readonly Token[]) => String.fromCharCode(...tokens)

/** Drafts of one output; `compute` takes so long for the draft and the token before it, all of which are chosen. */
function open({ text = 'name":', other }: { readonly text?: string; readonly other?: Drafter } = {}) {
  let now = 0
  const drafter = new CertainDrafts(model, () => now).open({ certain: (most) => text.slice(0, most) }, other)
  const draft = (round: Partial<Round> = {}, room = 100) => {
    const request = { sequence: {} as Sequence, round: { ...alone, ...round }, room, isOver: () => false }
    return textOf(drafter.draft(request) as readonly Token[])
  }
  const compute = (tookMs: number) => {
    const drafted = draft()
    now += tookMs
    for (const token of model.tokenize(`${drafted}.`)) drafter.push(token)
    return drafted
  }
  return { draft, compute }
}

describe('a draft of what is certain', () => {
  test('a draft leaves out the last token, which may be longer', () => {
    expect(open().draft()).toBe('name"')
    expect(open({ text: '{' }).draft()).toBe('')
  })

  test.each<[string, Partial<Round>, number, string]>([
    ['has no more tokens than there is room for', {}, 3, 'nam'],
    ['takes a second at most', { tokensMs: 300 }, 100, 'na'],
    ['is empty where a token takes a second', { tokensMs: 900 }, 100, ''],
    ['is empty beside other streams', { tokens: 2 }, 100, ''],
    ['is empty beside a prompt', { prompts: 1 }, 100, ''],
    ['is empty until the time of a token is known', { tokensMs: 0 }, 100, ''],
  ])('a draft %s', (_, round, room, expected) => {
    expect(open().draft(round, room)).toBe(expected)
  })

  test('a draft has at most eight tokens', () => {
    expect(open({ text: 'a long certain text' }).draft()).toBe('a long c')
  })

  test('drafts are made while they save time', () => {
    const { compute } = open()
    // Six tokens for the time of four.
    expect(Array.from({ length: 20 }, () => compute(40))).toEqual(Array.from({ length: 20 }, () => 'name"'))
  })

  test('drafts that save no time are tried now and then, and made again when they do', () => {
    const { compute } = open()
    const drafted = Array.from({ length: 200 }, () => compute(100))
    expect(drafted.filter((text) => text !== '')).toHaveLength(4)
    const later = Array.from({ length: 400 }, () => compute(20))
    expect(later.slice(-50).every((text) => text !== '')).toBe(true)
  })

  test('another drafter drafts the rest', () => {
    const pushed: Token[] = []
    const other: Drafter = { kind: 'model', push: (token) => void pushed.push(token), draft: () => model.tokenize('guess') }
    const { draft, compute } = open({ text: '', other })
    expect(draft()).toBe('guess')
    compute(10)
    expect(textOf(pushed)).toBe('guess.')
  })
})
