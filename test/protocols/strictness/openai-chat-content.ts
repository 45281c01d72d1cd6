import { asked, becomes, byUrl, called, calls, image, imagePart, user } from './openai-chat-samples.ts'
import type { StrictnessRow } from './row.ts'

/** Contents of messages. */
export const contentRows: readonly StrictnessRow[] = [
  {
    what: 'one text part, with `cache_control`',
    sample: { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] }] },
    outcome: 'healed',
    becomes: becomes(asked),
    ignored: ['messages[].content[].cache_control'],
    note: 'the same as the text',
  },
  {
    what: 'an empty text of the user or the system',
    sample: {
      messages: [
        { role: 'system', content: '' },
        { role: 'user', content: '' },
      ],
    },
    outcome: 'tolerated',
    becomes: becomes(
      { role: 'system', content: [{ type: 'text', text: '' }] },
      { role: 'user', content: [{ type: 'text', text: '' }] },
    ),
    note: 'as OpenAI does',
  },
  {
    what: 'an empty list of parts',
    sample: {
      messages: [
        { role: 'system', content: [] },
        { role: 'user', content: [] },
      ],
    },
    outcome: 'tolerated',
    becomes: becomes({ role: 'system', content: [] }, { role: 'user', content: [] }),
    note: 'an empty message',
  },
  {
    what: 'no content of the user',
    sample: { messages: [{ role: 'user', content: null }] },
    outcome: 'refused',
    param: 'messages[0].content',
    note: '',
  },
  {
    what: 'an assistant message without content and calls',
    sample: { messages: [user, { role: 'assistant', content: null }, user] },
    outcome: 'tolerated',
    becomes: becomes(asked, { role: 'assistant', parts: [] }, asked),
    note: 'an empty turn',
  },
  {
    what: 'a result without content',
    sample: { messages: [called, { role: 'tool', tool_call_id: 'c1', content: null }] },
    outcome: 'tolerated',
    becomes: becomes(calls, { role: 'tool', content: [], toolCallId: 'c1' }),
    note: 'the tool returned nothing',
  },
  {
    what: 'a part of an unknown type',
    sample: { messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
    outcome: 'refused',
    param: 'messages[0].content[0].type',
    note: "nothing of the user's is lost",
  },
  {
    what: 'a file that refers to nothing',
    sample: { messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf' } }] }] },
    outcome: 'refused',
    param: 'messages[0].content[0].file',
    note: 'send `file_data` or `file_id`',
  },
  {
    what: 'a file by its id',
    sample: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'x' } }] }] },
    outcome: 'tolerated',
    becomes: becomes({ role: 'user', content: [{ type: 'media', kind: 'file', source: { type: 'file', id: 'x' } }] }),
    note: 'one of this server; models read images, few read documents',
  },
  {
    what: 'an image by URL, also as a string',
    sample: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'https://a.example/a.png' } },
            { type: 'image_url', image_url: 'https://a.example/a.png' },
          ],
        },
      ],
    },
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [byUrl('image', 'https://a.example/a.png'), byUrl('image', 'https://a.example/a.png')],
    }),
    note: 'fetched here, by the rules of [media](../media.md); never by a server behind a model',
  },
  {
    what: '`audio_url` and `video_url`',
    sample: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'audio_url', audio_url: { url: 'https://a.example/a.wav' } },
            { type: 'video_url', video_url: 'https://a.example/a.mp4' },
          ],
        },
      ],
    },
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [byUrl('audio', 'https://a.example/a.wav'), byUrl('video', 'https://a.example/a.mp4')],
    }),
    note: "other servers' parts",
  },
  {
    what: '`input_audio` of any format',
    sample: {
      messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'QUJD', format: 'flac' } }] }],
    },
    outcome: 'tolerated',
    becomes: becomes({
      role: 'user',
      content: [{ type: 'media', kind: 'audio', source: { type: 'base64', base64: 'QUJD', mediaType: 'audio/flac' } }],
    }),
    note: 'the format is read from the bytes',
  },
  {
    what: '`image_base64` and `audio_base64` beside the messages',
    sample: { messages: [user], image_base64: 'QUJD' },
    outcome: 'tolerated',
    becomes: becomes({
      ...asked,
      content: [...asked.content, { type: 'media', kind: 'image', source: { type: 'base64', base64: 'QUJD' } }],
    }),
    note: 'at the end of the last user message',
  },
  {
    what: 'an unknown `detail`',
    sample: { messages: [{ role: 'user', content: [{ ...image, image_url: { ...image.image_url, detail: 'huge' } }] }] },
    outcome: 'refused',
    param: 'messages[0].content[0].image_url.detail',
    note: '',
  },
  {
    what: 'an image of the system',
    sample: { messages: [{ role: 'system', content: [image] }, user] },
    outcome: 'refused',
    param: 'messages[0].content[0]',
    note: 'send it in a user message',
  },
  {
    what: 'an image in a result',
    sample: { messages: [called, { role: 'tool', tool_call_id: 'c1', content: [image] }] },
    outcome: 'tolerated',
    becomes: becomes(calls, { role: 'tool', toolCallId: 'c1', content: [imagePart] }),
    note: 'such as a screenshot; a model without vision refuses it',
  },
  {
    what: "Claude Code's billing line in a system message",
    sample: { messages: [{ role: 'system', content: 'x-anthropic-billing-header: a=1;\nhi' }, user] },
    outcome: 'healed',
    becomes: becomes({ ...asked, role: 'system' }, asked),
    ignored: ['messages[].content'],
    note: 'left out: it ends the prompt cache of each session',
  },
  {
    what: 'an unknown field in a message',
    sample: { messages: [{ ...user, mood: 'good' }] },
    outcome: 'tolerated',
    becomes: becomes(asked),
    ignored: ['messages[].mood'],
    note: '',
  },
  {
    what: '`name` in a message of any role',
    sample: { messages: [{ ...user, name: 'Ann' }] },
    outcome: 'tolerated',
    becomes: becomes({ ...asked, name: 'Ann' }),
    note: 'where the template prints it',
  },
  {
    what: '`reasoning` and `reasoning_content` that differ',
    sample: { messages: [user, { role: 'assistant', reasoning: 'a', reasoning_content: 'b' }] },
    outcome: 'refused',
    param: 'messages[1].reasoning',
    note: '',
  },
]
