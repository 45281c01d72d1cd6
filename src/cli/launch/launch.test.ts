import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agents } from '../agents/agents.ts'
import { chooseModel, environmentOf, formatSetup } from './launch.ts'

describe('the model of an agent', () => {
  const cards = [{ id: 'first' }, { id: 'org/second', aliases: ['default', 'quick'] }]

  test.each([
    ['org/second', 'org/second'],
    ['quick', 'org/second'],
    ['first', 'first'],
    [undefined, 'org/second'],
  ])('the model for %s is %s', (wanted, id) => {
    expect(chooseModel(cards, wanted).id).toBe(id)
  })

  test('the model of an agent is the first where none is the default', () => {
    expect(chooseModel([{ id: 'first' }, { id: 'second' }], undefined).id).toBe('first')
  })

  test.each([
    ['third', cards, "the server has no model 'third'; available: first, org/second"],
    [undefined, [], 'the server has no models'],
  ])('the model of an agent cannot be %s', (wanted, available, message) => {
    expect(() => chooseModel(available, wanted)).toThrow(message)
  })
})

const models = ['$(touch pwned)', '`touch pwned`', "'; touch pwned; '", '"; touch pwned; "', 'a\nEND\ntouch pwned', '$HOME', '\\']

test("a value of the user's own wins over a default, and not over what names the server", () => {
  const setup = { env: { URL: 'here' }, defaults: { LIMIT: '100', OTHER: '1' }, args: [], files: {} }
  expect(environmentOf(setup, { URL: 'there', LIMIT: '7', HOME: '/h' })).toEqual({
    URL: 'here',
    LIMIT: '7',
    OTHER: '1',
    HOME: '/h',
  })
})

test.skipIf(process.platform === 'win32').each([...agents.keys()])(
  'a shell that is given what is printed for %s runs it, and nothing in names',
  (name) => {
    const agent = agents.get(name)
    if (agent === undefined) throw new Error(name)
    const root = mkdtempSync(join(tmpdir(), 'dragoman-print-'))
    onTestFinished(() => rmSync(root, { recursive: true }))
    writeFileSync(join(root, agent.command), '#!/bin/sh\nprintf "%s\\0" "$@"\n[ ! -d "$FOLDER" ] || cp -pR "$FOLDER" kept\n')
    chmodSync(join(root, agent.command), 0o755)
    for (const [index, model] of models.entries()) {
      for (const protocol of agent.protocols) {
        const folder = join(root, `it's ${protocol} ${index}`)
        const target = { url: 'http://127.0.0.1:1', model, protocol, apiKey: 'k', folder }
        const setup = agent.setUp(target)
        const script = formatSetup(agent, target, ['-p', model])
        const env = { PATH: `${root}:${process.env.PATH}`, HOME: root, FOLDER: folder }
        const out = execFileSync('sh', { input: script, env, cwd: root, encoding: 'utf8' })
        expect(out.split('\0').slice(0, -1)).toEqual([...setup.args, '-p', model])
        for (const [path, content] of Object.entries(setup.files)) {
          expect(readFileSync(join(root, 'kept', path), 'utf8')).toBe(`${content.trimEnd()}\n`)
          expect(statSync(join(root, 'kept')).mode & 0o777).toBe(0o700)
        }
        expect(existsSync(folder)).toBe(false)
        rmSync(join(root, 'kept'), { recursive: true, force: true })
      }
    }
    expect(readdirSync(root)).not.toContain('pwned')
  },
)
