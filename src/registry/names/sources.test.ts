import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { builtinModel } from './builtin-model.ts'
import { formatSource, isSource, landingPath, parseSource, resolvePath, sourceFileName } from './sources.ts'

describe('parseSource', () => {
  test.each([
    ['./x.gguf', { type: 'path', path: './x.gguf' }],
    ['/m/x', { type: 'path', path: '/m/x' }],
    ['~/x.gguf', { type: 'path', path: '~/x.gguf' }],
    ['x.gguf', { type: 'path', path: 'x.gguf' }],
    ['m/x.GGUF', { type: 'path', path: 'm/x.GGUF' }],
    ['C:\\m\\x.gguf', { type: 'path', path: 'C:\\m\\x.gguf' }],
    ['hf:o/r', { type: 'hf-repository', owner: 'o', repo: 'r', revision: 'main' }],
    ['hf:o/r@v1', { type: 'hf-repository', owner: 'o', repo: 'r', revision: 'v1' }],
    ['hf:o/r/x.gguf', { type: 'hf', owner: 'o', repo: 'r', file: 'x.gguf', revision: 'main' }],
    ['hf:o/r.1/q 4/x.gguf@v1', { type: 'hf', owner: 'o', repo: 'r.1', file: 'q 4/x.gguf', revision: 'v1' }],
    ['hf:o/r/x.gguf@refs/pr/1', { type: 'hf', owner: 'o', repo: 'r', file: 'x.gguf', revision: 'refs/pr/1' }],
    ['hf:o/r/a@b/x.gguf@main', { type: 'hf', owner: 'o', repo: 'r', file: 'a@b/x.gguf', revision: 'main' }],
    ['https://h/x.gguf?k=v#f', { type: 'url', url: 'https://h/x.gguf?k=v' }],
    ['http://127.0.0.1:8/x', { type: 'url', url: 'http://127.0.0.1:8/x' }],
    ['http://localhost/x', { type: 'url', url: 'http://localhost/x' }],
    ['http://[::1]/x', { type: 'url', url: 'http://[::1]/x' }],
    ['builtin:dragoman-tiny.gguf', { type: 'path', path: builtinModel.path }],
    ['wheel:a-b==1.2#p/x.gguf', { type: 'wheel', name: 'a-b', version: '1.2', member: 'p/x.gguf' }],
  ])('parseSource reads %s', (text, source) => {
    expect(parseSource(text)).toEqual(source)
  })

  test.each([
    ['', 'write ./model.gguf, hf:'],
    ['nonesuch', 'write ./model.gguf, hf:'],
    ['ftp://h/x.gguf', "'ftp:' is not known"],
    ['builtin:../x.gguf', 'there are dragoman-tiny.gguf and dragoman-tiny-mmproj.gguf'],
    ['hf:o', 'hf:OWNER/REPO[/FILE.gguf]'],
    ['hf:o/../x.gguf', 'hf:OWNER/REPO[/FILE.gguf]'],
    ['hf:o/r/', 'name the file too'],
    ['hf:o/r/../x.gguf', 'not a plain path'],
    ['hf:o/r//x.gguf', 'not a plain path'],
    ['hf:o/r/a\\..\\x.gguf', 'not a plain path'],
    ['hf:o/r/x.gguf@..', 'not a branch, tag or commit'],
    ['hf:o/r/x.gguf@', 'not a branch, tag or commit'],
    ['hf:o/r/x.safetensors', 'ends in .gguf'],
    ['hf:o/r/x-00001-of-00003.gguf', 'one part of a split model'],
    ['http://example.com/x.gguf', 'use https://'],
    ['http://127.0.0.1.example.com/x.gguf', 'use https://'],
    ['https://', 'not a URL'],
    ['wheel:a#x.gguf', 'wheel:NAME==VERSION#PATH'],
    ['wheel:-a==1#x.gguf', 'wheel:NAME==VERSION#PATH'],
    ['wheel:a==1.*#x.gguf', 'wheel:NAME==VERSION#PATH'],
    ['wheel:a==1#../x.gguf', 'not a plain path'],
    ['wheel:a==1#/x.gguf', 'not a plain path'],
  ])('%s is refused', (text, why) => {
    expect(() => parseSource(text)).toThrow(why)
  })

  test('a password in a URL is refused without being repeated', () => {
    expect(() => parseSource('https://me:secret@h/x.gguf')).toThrow(/^(?!.*secret).*must not contain a user or password/)
  })

  test('the written form parses back to the same source', () => {
    for (const text of [
      '/m/x.gguf',
      'hf:o/r',
      'hf:o/r@v1',
      'hf:o/r/q/x.gguf',
      'hf:o/r/x.gguf@v1',
      'https://h/x.gguf',
      'wheel:a==1#p/x.gguf',
    ]) {
      expect(formatSource(parseSource(text))).toBe(text)
    }
  })

  test('a message never shows the query of a URL', () => {
    expect(formatSource(parseSource('https://h/x.gguf?token=1'))).toBe('https://h/x.gguf')
  })
})

describe('isSource', () => {
  test.each([
    './model',
    '../model',
    '/m/model',
    '~/model',
    'model.gguf',
    'm/model.GGUF',
    'C:\\m\\model',
    'hf:o/r/x.gguf',
    'HF:o/r',
    'https://h/x',
    'http://localhost/x',
    'wheel:a==1#x.gguf',
  ])('%s is one', (text) => {
    expect(isSource(text)).toBe(true)
  })

  test.each(['', 'default', 'llama3', 'llama3:8b', 'owner/model', 'gguf', 'hf', 'claude-3.5'])("'%s' is a name", (text) => {
    expect(isSource(text)).toBe(false)
  })
})

describe('landingPath', () => {
  const land = (text: string) => {
    const source = parseSource(text)
    if (source.type === 'path' || source.type === 'hf-repository') throw new Error('this is not a file to fetch')
    return landingPath(source)
  }

  test.each([
    ['hf:o/r/q/x.gguf', 'hf/o/r/main/q/x.gguf'],
    ['hf:o/r/q 4*/x.gguf@refs/pr/1', 'hf/o/r/refs%2Fpr%2F1/q%204%2A/x.gguf'],
    ['wheel:a==1!2#p/x.gguf', 'wheel/a==1!2/p/x.gguf'],
  ])('landingPath places %s', (text, path) => {
    expect(land(text)).toBe(path)
  })

  test('two URLs never share a file', () => {
    expect(land('https://h:8/m/x.gguf')).toMatch(/^url\/h%3A8\/[0-9a-f]{16}\/x\.gguf$/)
    expect(land('https://h/x.gguf?a')).not.toBe(land('https://h/x.gguf?b'))
  })

  test('every accepted source stays below the models folder', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom('..', '.', '/', '%2f', '%2e%2e', '\\', '\0', '~', 'CON'))
    const tail = fc.array(part, { maxLength: 6 }).map((parts) => parts.join('/'))
    const source = fc.tuple(fc.constantFrom('hf:o/r/', 'https://h/', 'http://localhost/', 'wheel:a==1#'), tail)
    fc.assert(
      fc.property(source, ([start, end]) => {
        let path: string
        try {
          path = land(`${start}${end}.gguf`)
        } catch {
          return
        }
        expect(path.split('/').every((segment) => /^(?!\.{1,2}$)[\w.%!~'()=-]+$/.test(segment))).toBe(true)
      }),
    )
  })
})

test.each([
  ['https://h/a/b%20c.gguf?x', 'b-c.gguf'],
  ['https://h/a/%ff.gguf', '-ff.gguf'],
  ['https://h/', 'model.gguf'],
  ['hf:o/r/q/x.gguf', 'x.gguf'],
  ['hf:o/Qwen3-8B-GGUF', 'Qwen3-8B'],
  ['wheel:a==1#p/x.gguf', 'x.gguf'],
  ['C:\\m\\x.gguf', 'x.gguf'],
])('the file of %s is called %s', (text, name) => {
  expect(sourceFileName(parseSource(text))).toBe(name)
})

test.each([
  ['~/x', '/home/me/x'],
  ['x', '/base/x'],
  ['/x', '/x'],
  ['../x', '/x'],
])('the path %s means %s', (path, absolute) => {
  expect(resolvePath(path, { base: '/base', userHome: '/home/me' })).toBe(absolute)
})
