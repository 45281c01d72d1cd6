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
])('%j is %j', (line, expected) => {
  expect(readChatLine(line)).toEqual(expected)
})
