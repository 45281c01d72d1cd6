import { asked, becomes, say, system, text, turnBecomes, user } from './anthropic-samples.ts'
import type { StrictnessRow } from './row.ts'

/** Contents of messages and of the system prompt. */
export const contentRows: readonly StrictnessRow[] = [
  {
    what: 'a text, or a list with one text block and `cache_control`',
    sample: { system: [{ ...text, cache_control: { type: 'ephemeral' } }] },
    outcome: 'healed',
    becomes: becomes(system, asked),
    note: 'the same',
  },
  {
    what: "Claude Code's billing line before the system prompt",
    sample: { system: [{ type: 'text', text: 'x-anthropic-billing-header: a=1;' }, text] },
    outcome: 'healed',
    becomes: becomes(system, asked),
    ignored: ['system[0]'],
    note: 'left out: it ends the prompt cache of each session',
  },
  {
    what: 'an empty system prompt',
    sample: { system: '' },
    outcome: 'healed',
    becomes: becomes(asked),
    note: 'the same as none',
  },
  {
    what: 'an empty text of the user',
    sample: { messages: [{ role: 'user', content: '' }] },
    outcome: 'tolerated',
    becomes: becomes({ role: 'user', content: [{ type: 'text', text: '' }] }),
    note: 'Anthropic refuses it',
  },
  {
    what: 'an empty list of blocks of the user',
    sample: say(),
    outcome: 'refused',
    param: 'messages[0].content',
    note: 'the message says nothing: its content was probably lost',
  },
  {
    what: 'an assistant message without content',
    sample: { messages: [user, { role: 'assistant', content: null }, user] },
    outcome: 'healed',
    becomes: turnBecomes(),
    note: 'an empty turn',
  },
  {
    what: 'a block of the user of an unknown type',
    sample: say({ type: 'hologram' }),
    outcome: 'refused',
    param: 'messages[0].content[0].type',
    note: "nothing of the user's is lost",
  },
  {
    what: '`container_upload`',
    sample: say({ type: 'container_upload', file_id: 'x' }),
    outcome: 'refused',
    param: 'messages[0].content[0].type',
    note: 'no code is run here',
  },
  {
    what: 'an image or a document by URL',
    sample: say({ type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }),
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [{ type: 'media', kind: 'image', source: { type: 'url', url: 'https://a.example/a.png' } }],
    }),
    note: 'fetched here, by the rules of [media](../media.md)',
  },
  {
    what: 'an image or a document in base64 without `media_type`',
    sample: say({ type: 'image', source: { type: 'base64', data: 'QUJD' } }),
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [{ type: 'media', kind: 'image', source: { type: 'base64', base64: 'QUJD' } }],
    }),
    note: 'its bytes say what it is',
  },
  {
    what: 'an image or a document by the id of a file',
    sample: say({ type: 'document', source: { type: 'file', file_id: 'x' } }),
    outcome: 'tolerated',
    becomes: becomes({ role: 'user', content: [{ type: 'media', kind: 'file', source: { type: 'file', id: 'x' } }] }),
    note: 'one of this server',
  },
  {
    what: 'a document of text',
    sample: say({ type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'hi' } }),
    outcome: 'healed',
    becomes: becomes({ role: 'user', content: [{ type: 'text', text: 'T\n\nhi' }] }),
    note: 'its title, its context and its text',
  },
  {
    what: '`search_result`',
    sample: say({ type: 'search_result', source: 's', title: 'T', content: [text] }),
    outcome: 'healed',
    becomes: becomes({ role: 'user', content: [{ type: 'text', text: 'T\ns\n\nhi' }] }),
    note: 'its title, its source and its text',
  },
  {
    what: 'an unknown field in a block',
    sample: say({ ...text, mood: 'good' }),
    outcome: 'tolerated',
    becomes: becomes(asked),
    ignored: ['messages[].content[].mood'],
    note: '',
  },
]
