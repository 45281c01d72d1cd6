import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import { compileJsonSchema } from '../../../test/support/llama/compile-json-schema.ts'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { createRandom } from '../../../test/support/random.ts'
import { GrammarMachine, type MachineState } from '../run/machine.ts'
import { compileProgram } from '../run/program.ts'

const uris = [
  'http://localhost:11434/v1',
  'file:///x',
  'file:///home/me/My%20File.txt',
  'file:/etc/hosts',
  'https://example.com',
  'https://example.com/',
  'https://www.example.co.uk:8443/a/b.html?x=1&y=2#part-3',
  'http://127.0.0.1:8000/v1/chat/completions',
  'http://[::1]:8080/',
  'http://[2001:db8::7]/c=GB?objectClass?one',
  'ftp://user:secret@ftp.example.com/pub/x.tar.gz',
  'ssh://git@github.example:22/me/repo.git',
  'mailto:john.m.doe@example.com',
  'tel:+1-816-555-1212',
  'urn:isbn:0451450523',
  'urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6',
  'data:text/plain;base64,SGVsbG8=',
  's3://bucket/a/key.json',
  'postgresql://user@localhost/db?sslmode=require',
  'https://my_bucket.example.com/a_(b)',
  "https://example.com/a;v=1,2/$x!'*/@me:you",
  'git+ssh://host.example/x',
]
const references = [
  '',
  '/',
  '/a/b',
  '../a/b.txt',
  './x',
  'a/b',
  'index.html',
  '#part',
  '?q=1&r=2',
  '//cdn.example.com/x.js',
  'a?b#c',
  '*',
]

/** Values that people and programs write, and texts that only look like such values. */
const formats: Readonly<Record<string, { readonly valid: readonly string[]; readonly invalid: readonly string[] }>> = {
  date: { valid: ['2024-02-29', '1999-12-31', '0001-01-01'], invalid: ['2023-02-29', '2024-13-01', '2024-1-1', '24-01-01'] },
  time: { valid: ['12:34:56Z', '00:00:00.123456+02:00', '23:59:59-11:30'], invalid: ['24:00:00Z', '12:34Z', '12:34:56'] },
  'date-time': {
    valid: ['2024-01-31T23:59:59Z', '2024-02-29T12:00:00.5+05:30', '1985-04-12T23:20:50.52Z'],
    invalid: ['2024-01-31', '2024-02-30T12:00:00Z', '2024-01-31T12:00:00'],
  },
  'iso-time': { valid: ['12:34:56', '12:34:56Z', '12:34:56.7+01:00'], invalid: ['12:34', '25:00:00'] },
  'iso-date-time': { valid: ['2024-01-31T12:00:00', '2024-01-31T12:00:00Z'], invalid: ['2024-01-31', '2024-01-31T12'] },
  duration: { valid: ['P1D', 'PT1H30M', 'P3Y6M4DT12H30M5S', 'P2W', 'PT36H', 'P1M', 'PT0S'], invalid: ['P', 'PT', '1D', 'P1S'] },
  email: {
    valid: [
      'john.m.doe@example.com',
      'a@b.co',
      'first.middle.last.jr+tag@mail.example-site.co.uk',
      "o'brien@example.org",
      'x_y-z%1@sub.domain.example.museum',
      '1234567890@example.com',
      `${'a'.repeat(64)}@example.com`,
    ],
    invalid: ['john', 'john@', '@example.com', 'a..b@example.com', '.a@example.com', 'a b@example.com', `${'a'.repeat(65)}@b.co`],
  },
  'idn-email': { valid: ['jörg.müller@exämple.de', 'john@example.com', '用户@例子.广告'], invalid: ['jörg', 'a@b@c.de'] },
  hostname: {
    valid: ['localhost', 'example.com', 'a-b.c-d.example.co.uk', 'xn--mnchen-3ya.de', 'host01.internal', '3com.example'],
    invalid: ['', '-a.com', 'a-.com', 'a..b', 'a_b.com', 'exa mple.com'],
  },
  'idn-hostname': { valid: ['münchen.de', 'example.com', '例子.广告'], invalid: ['', 'a b.de', '-ä.de'] },
  ipv4: {
    valid: ['192.168.0.1', '0.0.0.0', '255.255.255.255', '8.8.8.8'],
    invalid: ['256.0.0.1', '1.2.3', '1.2.3.4.5', '01.2.3.4'],
  },
  ipv6: {
    valid: [
      '::1',
      '::',
      'fe80::1',
      '2001:db8::8a2e:370:7334',
      '2001:0db8:0000:0000:0000:ff00:0042:8329',
      '::ffff:192.0.2.1',
      '64:ff9b::192.0.2.33',
      '1:2:3:4:5:6:1.2.3.4',
      '2001:db8::',
      '1::8',
      '1:2:3:4:5:6:7::',
    ],
    invalid: ['1', ':::', '1:2:3:4:5:6:7:8:9', '1::2::3', '12345::', '::1.2.3'],
  },
  uri: { valid: uris, invalid: ['', 'example.com', '/a/b', 'http://a b', '1http://x', 'http://x/{y}', 'http://x/%zz'] },
  iri: {
    valid: [...uris, 'https://exämple.de/straße?größe=1#übersicht', 'https://例子.广告/路径'],
    invalid: ['', 'exämple', 'http://a b'],
  },
  url: {
    valid: [
      'https://example.com',
      'http://www.example.co.uk/a-b_c.html?x=1&y=%20#z',
      'https://example.com:8443/a/',
      'https://example.com/?q=a+b',
    ],
    invalid: ['example.com', 'mailto:a@b.co', 'https://'],
  },
  'uri-reference': { valid: [...uris, ...references], invalid: ['a b', '{x}', '1:2 3'] },
  'iri-reference': { valid: [...uris, ...references, 'straße/größe'], invalid: ['a b', '{x}'] },
  'uri-template': {
    valid: [
      'https://api.example.com/users/{id}',
      '/users{?page,size}',
      '{+base}/x{#part}',
      '/a{/path*}{.ext}',
      '/{name:3}/x?y=1{&more}',
      'https://example.com',
      '',
    ],
    invalid: ['/{', '/{}', '/{a', '/a}', 'a b'],
  },
  uuid: {
    valid: ['f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6'],
    invalid: ['f81d4fae7dec11d0a76500a0c91e6bf6', 'f81d4fae-7dec-11d0-a765-00a0c91e6bfg'],
  },
  'json-pointer': { valid: ['', '/', '/a/b', '/a~1b/~0', '/0/é x'], invalid: ['a', '/~2', '/a~'] },
  'json-pointer-uri-fragment': { valid: ['#', '#/a/b', '#/%20x/~0', '#/$defs/a'], invalid: ['', 'a', '/a', '#a'] },
  'relative-json-pointer': { valid: ['0', '1/a/b', '2#', '10/0'], invalid: ['', '/a', '01', '-1', '1a'] },
  byte: { valid: ['SGVsbG8=', '', 'YQ==', 'YWJj'], invalid: ['SGVsbG8', 'a', '====', 'YQ='] },
}

const ajv = new Ajv2020({ strict: false, logger: false })
addFormats.default(ajv)
/** Undefined for a format that Ajv does not know. */
const judge = (format: string) => (Object.hasOwn(ajv.formats, format) ? ajv.compile({ type: 'string', format }) : undefined)

describe.each(Object.entries(formats))('the format %s', (format, { valid, invalid }) => {
  const { grammar, enforcement } = compileJsonSchema({ type: 'string', format })
  const machine = new GrammarMachine(compileProgram(grammar))
  const accepts = (text: string): boolean => {
    let state: MachineState | undefined = machine.start({ left: 10_000_000 })
    for (const char of JSON.stringify(text)) state = state && machine.step(state, char.codePointAt(0) ?? 0, { left: 10_000_000 })
    return state?.isComplete === true
  }

  test('is enforced, and holds what people write', () => {
    expect(enforcement).toBe('full')
    expect(valid.filter((text) => !accepts(text))).toEqual([])
    expect(invalid.filter(accepts)).toEqual([])
  })

  test('holds nothing that Ajv refuses, and Ajv agrees with the table', () => {
    const isValid = judge(format)
    if (isValid === undefined) return
    expect(valid.filter((text) => !isValid(text))).toEqual([])
    const [matcher, random] = [createMatcher(grammar), createRandom(6)]
    const made = Array.from({ length: 30 }, () => JSON.parse(matcher.generate(random, 40)) as string)
    expect(made.filter((text) => !isValid(text))).toEqual([])
  })
})

test('a format that no pattern expresses is left to the validator', () => {
  expect(compileJsonSchema({ type: 'string', format: 'regex' }).enforcement).toBe('partial')
})
