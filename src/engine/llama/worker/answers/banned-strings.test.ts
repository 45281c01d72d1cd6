import { describe, expect, test } from 'vitest'
import type { Token } from '../../binding/tokenizer.ts'
import { BannedStrings, tokensWith } from './banned-strings.ts'

const euro = Buffer.from('€')
const pieces: readonly Uint8Array[] = [' sh', 'iv', 'ers', ' down', ' my', ' SH', ' spine', '.', 'e', 'h', 'Ä', 'ä'].map((text) =>
  Buffer.from(text),
)
const vocabulary = [...pieces, euro.subarray(0, 2), euro.subarray(2)]
const id = (piece: string) => pieces.findIndex((bytes) => Buffer.from(bytes).toString() === piece) as Token
const [euroStart, euroEnd] = [pieces.length as Token, (pieces.length + 1) as Token]
const bytesOf = (token: Token) => vocabulary[token] as Uint8Array

const sift = (banned: readonly string[]) => {
  const bans = new BannedStrings(banned, { bytesOf })
  const push = (token: Token) => {
    const { released, takenBack } = bans.push({ token })
    return [released.map((one) => one.token), takenBack]
  }
  return { bans, push }
}

describe('banned strings', () => {
  test('tokens that cannot be part of a banned string are released immediately', () => {
    const { push } = sift(['shivers down'])
    expect(push(id(' my'))).toEqual([[id(' my')], 0])
  })

  test('tokens that may become a banned string are held until they cannot', () => {
    const { push } = sift(['shivers down'])
    expect(push(id(' sh'))).toEqual([[], 0])
    expect(push(id('iv'))).toEqual([[], 0])
    expect(push(id('.'))).toEqual([[id(' sh'), id('iv'), id('.')], 0])
  })

  test('the tokens of a banned string are taken back, and its first one is forbidden there', () => {
    const { bans, push } = sift(['SHIVERS down'])
    push(id(' my'))
    for (const piece of [' sh', 'iv', 'ers']) push(id(piece))
    expect(push(id(' down'))).toEqual([[], 4])
    expect([...(bans.forbidden(1) ?? [])]).toEqual([id(' sh')])
    for (const piece of [' SH', 'iv', 'ers', ' down']) push(id(piece))
    expect([...(bans.forbidden(1) ?? [])]).toEqual([id(' sh'), id(' SH')])
    expect(push(id('.'))).toEqual([[id('.')], 0])
    expect(bans.forbidden(1)).toBeUndefined()
  })

  test('tries behind a position that is taken back are forgotten', () => {
    const { bans, push } = sift(['hh', 'e..'])
    push(id('e'))
    push(id('.'))
    expect(push(id('.'))).toEqual([[], 3])
    push(id('h'))
    expect(push(id('h'))).toEqual([[], 2])
    expect([...(bans.forbidden(0) ?? [])]).toEqual([id('e'), id('h')])
  })

  test('banned strings are found in either case, also beside ASCII, and in halves of a character', () => {
    const { push } = sift(['ÄÄ', '€.'])
    push(id('Ä'))
    expect(push(id('ä'))).toEqual([[], 2])
    expect(push(euroStart)).toEqual([[], 0])
    expect(push(euroEnd)).toEqual([[], 0])
    expect(push(id('.'))).toEqual([[], 2])
  })

  test('held tokens are released at the end, and together with inserted ones', () => {
    const { bans, push } = sift(['shivers down'])
    push(id(' sh'))
    expect(bans.end().map(({ token }) => token)).toEqual([id(' sh')])
    push(id(' sh'))
    const { released, takenBack } = bans.push({ token: id('iv'), isInserted: true })
    expect([released.map(({ token }) => token), takenBack]).toEqual([[id(' sh'), id('iv')], 0])
  })

  test('tokens that contain a banned string are found beforehand', () => {
    const all = { size: vocabulary.length, bytesOf } as Parameters<typeof tokensWith>[1]
    expect(tokensWith(['Sh', '€'], all)).toEqual([id(' sh'), id(' SH')])
  })
})
