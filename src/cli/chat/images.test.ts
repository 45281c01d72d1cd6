import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { imagePathsIn, withImages } from './images.ts'

test.each([
  ['what is in ./cat.png?', ['./cat.png']],
  ['./a.JPG and ~/b.webp, please', ['./a.JPG', '~/b.webp']],
  ['\'/tmp/my cat.png\' "/tmp/your cat.gif"', ['/tmp/my cat.png', '/tmp/your cat.gif']],
  ['/tmp/my\\ cat.png', ['/tmp/my cat.png']],
  ['cat.png', ['cat.png']],
  ['a.png a.png', ['a.png']],
  ['see https://example.com/cat.png', []],
  ['cat.pngs, .png files and cat.txt', []],
  ['no image', []],
])('in %j the paths of images are %j', (text, paths) => {
  expect(imagePathsIn(text)).toEqual(paths)
})

describe('a message', () => {
  let base: string
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'dragoman-images-'))
    return () => rmSync(base, { recursive: true })
  })
  const read = (text: string) => withImages(text, { base, userHome: base })

  test('a message has the images whose paths are in it, before its text', async () => {
    writeFileSync(join(base, 'cat.jpg'), 'meow')
    expect(await read('what is ~/cat.jpg?')).toEqual({
      content: [
        { type: 'image_url', image_url: { url: `data:image/jpeg;base64,${Buffer.from('meow').toString('base64')}` } },
        { type: 'text', text: 'what is ~/cat.jpg?' },
      ],
      notes: ['~/cat.jpg is sent as an image, 4 B'],
    })
  })

  test('a message stays a text where there is no such file; a path is named', async () => {
    expect(await read('name it cat.png')).toEqual({ content: 'name it cat.png', notes: [] })
    expect(await read('look at ./cat.png')).toEqual({
      content: 'look at ./cat.png',
      notes: ['./cat.png is not sent as an image: there is no such file'],
    })
  })

  test('a message leaves out an image that is too large for a request', async () => {
    writeFileSync(join(base, 'large.png'), '')
    truncateSync(join(base, 'large.png'), 30_000_000)
    const { content, notes } = await read('./large.png')
    expect(content).toBe('./large.png')
    expect(notes).toEqual(['./large.png is not sent as an image: 30.0 MB are more than 20.0 MB'])
  })
})
