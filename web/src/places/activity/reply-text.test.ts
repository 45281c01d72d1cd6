import { expect, test } from 'vitest'
import { replyText } from './reply-text.ts'

test.each([
  [{ choices: [{ message: { content: 'hi' } }] }, 'hi'],
  [{ choices: [{ text: 'a' }, { text: 'b' }] }, 'ab'],
  [{ content: [{ type: 'text', text: 'hi' }] }, 'hi'],
  [{ output: [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }] }, 'hi'],
  [{ message: { content: 'hi' } }, 'hi'],
  [{ data: [1] }, '{\n  "data": [\n    1\n  ]\n}'],
])('the text of %j', (reply, text) => {
  expect(replyText(reply)).toBe(text)
})
