import { expect, test } from 'vitest'
import { withOneBos } from './own-prompts.ts'

const bos = '<s>'

test.each([
  ['a server that adds it gets none', '<s>hi', { bos, serverAdds: true, tokenizerAdds: true }, 'hi'],
  ['… however often the template writes it', '<s><s>hi', { bos, serverAdds: true, tokenizerAdds: true }, 'hi'],
  ['a server that does not gets the one of the template', '<s>hi', { bos, serverAdds: false, tokenizerAdds: true }, '<s>hi'],
  ['… once', '<s><s>hi', { bos, serverAdds: false, tokenizerAdds: false }, '<s>hi'],
  ['… and one where the template leaves it to the tokenizer', 'hi', { bos, serverAdds: false, tokenizerAdds: true }, '<s>hi'],
  ['a model without one gets none', 'hi', { bos, serverAdds: false, tokenizerAdds: false }, 'hi'],
  ['an unknown text is left alone', '<s>hi', { bos: undefined, serverAdds: true, tokenizerAdds: true }, '<s>hi'],
  ['one inside of the text is the text', 'hi <s>', { bos, serverAdds: true, tokenizerAdds: true }, 'hi <s>'],
])('%s', (_, text, options, expected) => {
  expect(withOneBos(text, options)).toBe(expected)
})
