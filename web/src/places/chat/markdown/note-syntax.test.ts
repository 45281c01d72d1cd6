import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { expect, test } from 'vitest'
import { notes, notesHtml } from './note-syntax.ts'

const render = (text: string) => micromark(text, { extensions: [gfm(), notes], htmlExtensions: [gfmHtml(), notesHtml] })

test.each([
  ['a reference', 'so[^1].', '<p>so<sup class="md-note">1</sup>.</p>'],
  ['the text of a note', '[^12]: Why.', '<p><sup class="md-note md-note-text">12</sup> Why.</p>'],
  [
    'two notes',
    '[^1]: a\n[^2]: b',
    '<p><sup class="md-note md-note-text">1</sup> a\n<sup class="md-note md-note-text">2</sup> b</p>',
  ],
  ['a colon after a reference', 'as[^1]: said', '<p>as<sup class="md-note">1</sup>: said</p>'],
  ['a pattern', 'not [^a-z] or [^]', '<p>not [^a-z] or [^]</p>'],
  ['a definition of a link', '[a]: https://a.example', '<p>[a]: <a href="https://a.example">https://a.example</a></p>'],
  ['code', '`[^1]`', '<p><code>[^1]</code></p>'],
  ['a link', '[^](https://a.example)', '<p><a href="https://a.example">^</a></p>'],
])('%s', (_name, text, html) => {
  expect(render(text)).toBe(html)
})
