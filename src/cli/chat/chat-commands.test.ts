import { expect, test } from 'vitest'
import { type ChatLine, readChatLine } from './chat-commands.ts'

test.each<[string, ChatLine]>([
  ['hello', { type: 'message', text: 'hello' }],
  ['  keep my spaces ', { type: 'message', text: '  keep my spaces ' }],
  ['/help', { type: 'help' }],
  ['/?', { type: 'help' }],
  ['/bye ', { type: 'bye' }],
  [' /bye', { type: 'message', text: ' /bye' }],
  ['/exit', { type: 'bye' }],
  ['/quit', { type: 'bye' }],
  ['/clear', { type: 'clear' }],
  ['/system You are\na pirate. ', { type: 'system', text: 'You are\na pirate.' }],
  ['/system', { type: 'system', text: '' }],
  ['/hlep', { type: 'unknown', name: '/hlep' }],
  ['/constructor', { type: 'unknown', name: '/constructor' }],
  ['/etc/hosts is what?', { type: 'message', text: '/etc/hosts is what?' }],
  ['/', { type: 'message', text: '/' }],
  ['1 / 2', { type: 'message', text: '1 / 2' }],
  ['/etc/hosts\nis what?', { type: 'message', text: '/etc/hosts\nis what?' }],
  ['/clear\n/bye', { type: 'message', text: '/clear\n/bye' }],
  ['/set', { type: 'set', name: '', value: '' }],
  ['/set top_p 0.9', { type: 'set', name: 'top_p', value: '0.9' }],
  ['/set temperature', { type: 'set', name: 'temperature', value: '' }],
  ['/set stop a b ', { type: 'set', name: 'stop', value: 'a b' }],
  ['/set system You are\na pirate.', { type: 'system', text: 'You are\na pirate.' }],
  ['/set top_p 1\nand more', { type: 'message', text: '/set top_p 1\nand more' }],
  ['/save my chat.json', { type: 'save', file: 'my chat.json' }],
  ['/load', { type: 'load', file: '' }],
  ['/retry', { type: 'retry' }],
  ['a paste\n\n', { type: 'message', text: 'a paste' }],
])('the line %j is read as %j', (text, expected) => {
  expect(readChatLine({ text, isQuoted: false })).toEqual(expected)
})

test('what stands in triple quotes is a message, no matter how it begins', () => {
  expect(readChatLine({ text: '/bye', isQuoted: true })).toEqual({ type: 'message', text: '/bye' })
})
