import { describe, expect, test } from 'vitest'
import { said } from './__fixtures__/decode.ts'
import {
  createConversationId,
  decodeNewConversation,
  encodeConversation,
  encodeDeletedConversation,
} from './decode-conversations.ts'
import { decodeNewItems, encodeItemPage } from './items.ts'

describe('a new conversation', () => {
  test.each([[undefined], [null], [{}], [{ metadata: null, items: null }]])('of %j is empty', (body) => {
    expect(decodeNewConversation(body)).toEqual({ metadata: {}, items: [] })
  })

  test('begins with items, each with an id', () => {
    const { items } = decodeNewConversation({ items: [{ role: 'user', content: 'hi' }] })
    expect(items).toEqual([
      {
        id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
        json: {
          id: items[0]?.id,
          type: 'message',
          status: 'completed',
          role: 'user',
          content: [{ type: 'input_text', text: 'hi' }],
        },
      },
    ])
  })

  test('is OpenAI’s object', () => {
    const id = createConversationId()
    expect(id).toMatch(/^conv_[0-9a-f]{32}$/)
    expect(encodeConversation({ id, createdAtMs: 1_700_000_000_999, metadata: { a: 'b' } })).toEqual({
      id,
      object: 'conversation',
      created_at: 1_700_000_000,
      metadata: { a: 'b' },
    })
    expect(encodeDeletedConversation(id)).toEqual({ id, object: 'conversation.deleted', deleted: true })
  })
})

describe('items of a conversation', () => {
  test('keep their ids and fields, also those that are not known here', () => {
    const item = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'a' } }
    expect(decodeNewItems({ items: [item] })).toEqual([{ id: 'ws_1', json: item }])
  })

  test.each([{ type: 'item_reference', id: 'msg_1' }, { type: 'compaction_trigger' }])('are not %j', (item) => {
    expect(() => decodeNewItems({ items: [item] })).toThrow(expect.objectContaining({ param: 'items[0].type' }))
  })

  test('come in lists of at most 20', () => {
    const items = Array.from({ length: 21 }, () => ({ role: 'user', content: 'a' }))
    expect(() => decodeNewItems({ items })).toThrow(/at most 20 items/)
  })

  test('are listed in pages', () => {
    const items = [said('msg_1', 'user', 'hi'), said('msg_2', 'assistant', 'ho')]
    const data = items.map(({ json }) => json)
    const page = { object: 'list', data, first_id: 'msg_1', last_id: 'msg_2', has_more: true }
    expect(encodeItemPage({ items, hasMore: true })).toEqual(page)
    expect(encodeItemPage({ items: [], hasMore: false })).toMatchObject({ data: [], has_more: false })
  })
})
