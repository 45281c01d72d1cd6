import { describe, expect, test } from 'vitest'
import { zipFile } from '../../../../../test/support/documents/zip-file.ts'
import { pathOf } from '../conversation.ts'
import { conversationsIn, readFile } from './read-file.ts'

const said = (id: string, role: string, parent: string | null, content: object, more: object = {}) => ({
  id,
  parent,
  children: [],
  message: { id, author: { role }, create_time: 1_700_000_000.5, content, recipient: 'all', metadata: {}, ...more },
})
const text = (...parts: unknown[]) => ({ content_type: 'text', parts })

const ofChatgpt = {
  title: 'Tides',
  create_time: 1_700_000_000.25,
  update_time: 1_700_000_100,
  conversation_id: '6f1c2a3b-1111-4222-8333-444455556666',
  is_starred: true,
  current_node: 'a2',
  mapping: {
    root: { id: 'root', parent: null, children: ['s'], message: null },
    s: said('s', 'system', 'root', text(''), { metadata: { is_visually_hidden_from_conversation: true } }),
    u: said('u', 'user', 's', { content_type: 'multimodal_text', parts: [{ content_type: 'image_asset_pointer' }, 'When?'] }),
    a1: said('a1', 'assistant', 'u', text('At noon.'), { metadata: { model_slug: 'gpt-x' } }),
    t: said('t', 'assistant', 'u', { content_type: 'thoughts', thoughts: [{ summary: 'Sea', content: 'Moon pulls.' }] }),
    c: said('c', 'assistant', 't', { content_type: 'code', text: 'search("tides")' }, { recipient: 'web' }),
    r: said('r', 'tool', 'c', { content_type: 'execution_output', text: 'Twice a day' }),
    a2: said('a2', 'assistant', 'r', text('Twice ', 'a day.')),
  },
}

const ofOpenWebui = {
  id: '0a1b2c3d-1111-4222-8333-444455556666',
  title: 'Tides',
  pinned: true,
  created_at: 1_700_000_000,
  updated_at: 1_700_000_100,
  chat: {
    title: 'Tides',
    params: { system: 'Be brief.' },
    history: {
      currentId: 'a2',
      messages: {
        u: {
          id: 'u',
          parentId: null,
          childrenIds: ['a1', 'a2'],
          role: 'user',
          content: 'When?',
          timestamp: 1_700_000_000,
          files: [
            { type: 'image', url: 'data:image/png;base64,AA==' },
            { type: 'file', id: 'x' },
          ],
        },
        a1: { id: 'a1', parentId: 'u', role: 'assistant', content: '', model: 'llama', error: { content: 'no memory' } },
        a2: {
          id: 'a2',
          parentId: 'u',
          role: 'assistant',
          model: 'qwen',
          timestamp: 1_700_000_001,
          done: true,
          content: `<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> Moon &amp; sun\n> pull.\n</details>\n<details type="tool_calls" done="true" id="c" name="web" arguments="&quot;{\\&quot;q\\&quot;: 1}&quot;" result="&quot;found&quot;">\n<summary>Tool Executed</summary>\n</details>\nTwice a day.\n<details>\n<summary>mine</summary>\n</details>`,
        },
      },
    },
  },
}

describe('conversations of other programs', () => {
  test('ChatGPT: both branches, with reasoning and calls of tools; hidden messages are left out', () => {
    const [made, ...others] = conversationsIn(JSON.stringify([ofChatgpt, { ...ofChatgpt, mapping: {} }]))
    expect(others).toEqual([])
    expect(made).toMatchObject({ id: ofChatgpt.conversation_id, title: 'Tides', isPinned: true, createdAtMs: 1_700_000_000_250 })
    expect(Object.keys(made?.messages ?? {}).sort()).toEqual(['a1', 'a2', 'u'])
    expect(made && pathOf(made)).toMatchObject([
      { id: 'u', role: 'user', text: '(image: not in the export)\n\nWhen?', atMs: 1_700_000_000_500 },
      {
        id: 'a2',
        parent: 'u',
        state: 'done',
        text: 'Twice \n\na day.',
        reasoning: 'Sea\nMoon pulls.',
        calls: [{ name: 'web', input: 'search("tides")', by: 'server', result: 'Twice a day' }],
      },
    ])
    expect(made?.messages.a1).toMatchObject({ parent: 'u', model: 'gpt-x', text: 'At noon.' })
  })

  test('Open WebUI: both branches, with pictures, reasoning, calls of tools and failures', () => {
    const [made] = conversationsIn(JSON.stringify([ofOpenWebui]))
    expect(made).toMatchObject({
      id: ofOpenWebui.id,
      isPinned: true,
      settings: { system: 'Be brief.' },
      updatedAtMs: 1_700_000_100_000,
    })
    expect(made && pathOf(made)).toEqual([
      {
        id: 'u',
        role: 'user',
        text: 'When?',
        atMs: 1_700_000_000_000,
        attachments: [{ kind: 'image', name: 'image', type: 'image/png', data: 'data:image/png;base64,AA==' }],
      },
      {
        id: 'a2',
        parent: 'u',
        role: 'assistant',
        model: 'qwen',
        atMs: 1_700_000_001_000,
        state: 'done',
        text: 'Twice a day.\n<details>\n<summary>mine</summary>\n</details>',
        reasoning: 'Moon & sun\npull.',
        calls: [{ id: 'c', name: 'web', input: '{"q": 1}', by: 'server', result: 'found' }],
      },
    ])
    expect(made?.messages.a1).toMatchObject({ state: 'failed', problem: 'no memory' })
  })

  test.each([
    [{ mapping: { a: { id: 'a', parent: 'b' }, b: { id: 'b', parent: 'a' }, c: said('c', 'user', 'a', text('hi')) } }],
    [{ mapping: { a: said('a', 'user', 'a', text('hi')) }, current_node: 'a' }],
    [{ chat: { history: { currentId: 'a', messages: { a: { parentId: 'a', role: 'user', content: 'hi' }, b: null } } } }],
  ])('%j is read, although its messages form a circle or are none', (value) => {
    const [made] = conversationsIn(JSON.stringify(value))
    expect(Object.values(made?.messages ?? {}).map((each) => each.text)).toEqual(['hi'])
  })

  test('ChatGPT: the ZIP has its conversations in one file or several, beside others', async () => {
    const other = { ...ofChatgpt, conversation_id: 'other' }
    const zipped = (entries: Readonly<Record<string, string>>) =>
      readFile(new File([new Uint8Array(zipFile(entries))], 'export.zip'))
    const entries = {
      'chat.html': '<p>',
      'conversations-000.json': JSON.stringify([ofChatgpt]),
      'conversations-001.json': JSON.stringify([other]),
      'shared_conversations.json': '[]',
    }
    expect((await zipped(entries)).map(({ id }) => id)).toEqual([ofChatgpt.conversation_id, 'other'])
    await expect(zipped({ 'chat.html': '' })).rejects.toThrow('export.zip has no conversations.json')
    expect(await readFile(new File([JSON.stringify(other)], 'c.json'))).toHaveLength(1)
  })

  test('a file of neither is refused', () => {
    expect(() => conversationsIn('[{"title":"x"}]')).toThrow(/has no conversations/)
  })
})
