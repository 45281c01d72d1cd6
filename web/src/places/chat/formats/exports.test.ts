import { expect, test } from 'vitest'
import { createConversation, type Message, withMessage } from '../conversation.ts'
import { toHtml } from './to-html.ts'
import { toMarkdown } from './to-markdown.ts'

const message = (id: string, more: Partial<Message>): Message => ({ id, role: 'user', text: '', atMs: 0, ...more })
const conversation = [
  message('m1', {
    text: 'What is *this*?',
    attachments: [
      { kind: 'image', name: 'a]b.png', type: 'image/png', data: 'data:image/png;base64,AA==' },
      { kind: 'text', name: 'notes.txt', type: 'text/plain', data: '```js\n1\n```' },
    ],
  }),
  message('m2', {
    parent: 'm1',
    role: 'assistant',
    model: 'org/model',
    reasoning: 'Hm.\n\nSo.',
    calls: [{ id: 'c', name: 'look', input: '{"at":1}', by: 'server', result: '<b>seen</b>' }],
    text: 'It is \\(a_1\\) <i>and</i> **bold**.',
  }),
].reduce(withMessage, createConversation('c', 0, { system: 'Be brief.' }))

test('Markdown has everything that was said, with fences that their text cannot end', () => {
  const text = toMarkdown(conversation)
  for (const part of [
    '# What is *this*?\n\n## System prompt\n\nBe brief.\n\n## You\n\n![a\\]b.png](data:image/png;base64,AA==)',
    'notes.txt:\n\n````\n```js\n1\n```\n````\n\nWhat is *this*?',
    '## org/model\n\n> Thinking\n> \n> Hm.\n> \n> So.',
    'The server ran look\n\n```json\n{"at":1}\n```\n\nResult:\n\n```\n<b>seen</b>\n```\n\nIt is \\(a_1\\)',
  ]) {
    expect(text).toContain(part)
  }
})

test('HTML has it as text, formulas as they were written, and nothing of a model as HTML', () => {
  const html = toHtml([conversation])
  for (const part of [
    '<title>What is *this*?</title>',
    '<code class="formula">\\(a_1\\)</code>',
    '<strong>bold</strong>',
    '&lt;b&gt;seen&lt;/b&gt;',
    '<img src="data:image/png;base64,AA==" alt="a]b.png">',
  ]) {
    expect(html).toContain(part)
  }
  expect(html).not.toMatch(/<i>|<b>/)
})
