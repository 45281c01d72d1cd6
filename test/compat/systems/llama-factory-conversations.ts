import { fine } from '../answers.ts'
import { has, status, text, upstreamGot } from '../checks.ts'
import {
  assistant,
  better,
  called,
  chat,
  differs,
  type Group,
  imagePart,
  over,
  type Row,
  result,
  shownBy,
  system,
  textPart,
  tiny,
  tool,
  user,
  works,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'
import { inOrder, renders, seen } from './shown-steps.ts'

const callOf = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
const twoCalls = assistant(null, { tool_calls: [callOf('a', 'f'), callOf('b', 'g')] })

const conversations: readonly Row[] = [
  works(40, 'no messages is a 400', chat({ messages: [] }, status(400, /at least one message/))),
  better(
    41,
    ['an odd number of turns', 'any number'],
    renders({ messages: [user('ONE'), assistant('TWO')] }, has('prompt', inOrder('ONE', 'TWO'))),
    chat({ messages: [user('a'), user('b')] }, text('b')),
  ),
  better(
    42,
    ['user and assistant alternate', 'any order, merged as the template needs it'],
    renders(
      { messages: [assistant('ONE'), user('TWO'), system('THREE'), user('FOUR')] },
      has('prompt', inOrder('ONE', 'TWO', 'THREE', 'FOUR')),
    ),
    shownBy('../src/model-text/template/histories.test.ts', 'renders what clients send, and loses nothing of it'),
  ),
  better(
    43,
    ['several results of tools in a row', 'in the order of their calls'],
    renders(
      {
        messages: [user('q'), twoCalls, result('RB', { tool_call_id: 'b' }), result('RA', { tool_call_id: 'a' }), user('n')],
      },
      has('prompt', inOrder('"f"', '"g"', 'RA', 'RB')),
    ),
  ),
  better(
    44,
    ['a result without `tool_call_id`', 'answers the first open call'],
    renders(
      { messages: [user('q'), twoCalls, result('RB', { tool_call_id: 'b' }), result('RA', {})] },
      has('prompt', inOrder('"f"', '"g"', 'RA', 'RB')),
    ),
  ),
  differs(
    45,
    ['role `function` is a call of the model', "a result, as in OpenAI's API, whose SDKs send it"],
    renders(
      { messages: [user('q'), { role: 'function', name: 'f', content: 'RES' }] },
      has('prompt', /<tool_response>\nRES\n<\/tool_response>/),
    ),
  ),
  better(
    46,
    ['calls in the history', 'beside their text; arguments reach templates as an object'],
    renders(
      { messages: [user('q'), { ...called('{"a":1}'), content: 'SURE' }, result('r')] },
      has('prompt', /SURE.*"arguments": \{"a": 1\}/s),
    ),
  ),
  works(47, 'an unknown part is a 400', chat({ messages: [user([{ type: 'smell' }])] }, status(400, /content\[0\]\.type/))),
  better(
    48,
    ['tools are in the system text', 'also where the template shows none'],
    renders({ tools: [tool('find_it')] }, has('prompt', /system\n.*find_it.*user\nq/s)),
    renders({ model: 'found-by-name', tools: [tool('find_it')] }, has('prompt', /^\[found\] .*find_it/s)),
  ),
]

const mediaPart = (kind: 'audio' | 'video', data: string, type: string) => ({
  type: `${kind}_url`,
  [`${kind}_url`]: { url: `data:${type};base64,${data}` },
})
const mp4 = 'AAAAGGZ0eXBtcDQyAAAAAG1wNDJpc29t'
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA='

/** The picture, with a header that says it is larger. */
function largePicture(): string {
  const bytes = Buffer.from(redPixel, 'base64')
  bytes.writeUInt32BE(20_000, 16)
  bytes.writeUInt32BE(20_000, 20)
  return `data:image/png;base64,${bytes.toString('base64')}`
}

const media: readonly Row[] = [
  works(
    49,
    '`image_url` with base64',
    seen(imagePart(picture), text(/^see\[image image\/png \d+ bytes 1x1 /)),
    over(fine, { messages: [user([imagePart(picture)])] }, upstreamGot('messages.0.content.0.image_url.url', picture)),
  ),
  better(
    50,
    ['`image_url` over HTTP', 'fetched and checked here; engines get bytes, never addresses'],
    seen(imagePart('SITE/red.png'), text(/\[image image\/png /)),
    over(fine, { messages: [user([imagePart('SITE/red.png')])] }, upstreamGot('messages.0.content.0.image_url.url', picture)),
  ),
  works(51, '`image_url` with a path', seen(imagePart('FOLDER/media/red.png'), text(/\[image image\/png /))),
  works(
    52,
    '`video_url`',
    seen(mediaPart('video', mp4, 'video/mp4'), text(/^see\[video video\/mp4 24 bytes /)),
    over(
      fine,
      { messages: [user([textPart('x'), mediaPart('video', mp4, 'video/mp4')])] },
      upstreamGot('messages.0.content.1.video_url.url', `data:video/mp4;base64,${mp4}`),
    ),
  ),
  works(
    53,
    '`audio_url`',
    seen(mediaPart('audio', wav, 'audio/wav'), text(/^see\[audio audio\/wav 44 bytes /)),
    over(
      fine,
      { messages: [user([textPart('x'), mediaPart('audio', wav, 'audio/wav')])] },
      upstreamGot('messages.0.content.1.input_audio', { data: wav, format: 'wav' }),
    ),
  ),
  better(
    54,
    ['paths outside the folder are refused', 'also symbolic links; one answer for all'],
    ...['FOLDER/media/../outside.png', 'FOLDER/media/link.png', 'file:///etc/passwd', 'FOLDER/media/none.png'].map((path) =>
      seen(imagePart(path), status(400, /not a file that may be read: it must be below the folder/)),
    ),
  ),
  better(
    55,
    ['addresses of the local network are refused', 'in every spelling, also after redirects'],
    ...[
      'http://127.0.0.1/a',
      'http://[::1]/a',
      'http://0x7f000001/',
      'http://2130706433/',
      'http://[::ffff:127.0.0.1]/',
      'http://169.254.169.254/',
      'SITE/away',
    ].map((url) => seen(imagePart(url), status(400, /not at a public address/))),
    seen(imagePart('ftp://example.com/a'), status(400, /not fetched/)),
  ),
  better(
    56,
    ['MIME types and base64 are checked', 'also size and pixels; the bytes decide the type'],
    seen(imagePart('data:image/png;base64,@@@'), status(400, /base64/)),
    seen(imagePart('data:image/svg+xml;base64,PHN2Zy8+'), status(400, /image_url/)),
    seen(imagePart(largePicture()), status(400, /20000 × 20000 pixels/)),
    seen(imagePart(`data:image/jpeg;base64,${redPixel}`), text(/\[image image\/png /)),
  ),
  works(
    57,
    '`detail`',
    over(
      fine,
      { messages: [user([imagePart(picture, { detail: 'low' })])] },
      upstreamGot('messages.0.content.0.image_url.detail', 'low'),
    ),
  ),
  better(
    58,
    ['a model without that sense', '400 that names the part, in place of 500'],
    tiny({ messages: [user([mediaPart('audio', wav, 'audio/wav')])] }, status(400, /messages\[0\]\.content\[0\]/)),
  ),
  works(
    59,
    'pictures, videos and sound are converted',
    shownBy('../src/media/convert/converter.test.ts', 'becomes a PNG with the same pixels'),
    shownBy('../src/media/convert/converter.test.ts', 'becomes WAV with one channel'),
    shownBy('../src/media/convert/converter.test.ts', 'a video becomes two pictures for each second, in order, small enough'),
  ),
]

/** What conversations and their media become. */
export const llamaFactoryConversations: readonly Group[] = [
  { title: 'conversations', rows: conversations },
  { title: 'media', rows: media },
]
