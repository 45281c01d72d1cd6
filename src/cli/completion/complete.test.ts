import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildProgram, builtProgram } from '../../../test/support/process/built-program.ts'
import { program } from '../commands.ts'
import { type Completion, complete } from './complete.ts'
import { printCompletions } from './print-completions.ts'
import { completionScript } from './scripts.ts'

const valuesOf = (completion: Completion) =>
  completion.type === 'names' ? completion.wanted : completion.candidates.map(({ value }) => value)
const completed = (line: string) => valuesOf(complete(program, line.split(' ')))

describe('what may stand at the cursor', () => {
  test.each<[string, string | string[]]>([
    ['se', ['serve', 'search']],
    ['un', ['unload', 'undrain']],
    ['keys ', ['new', 'list', 'delete']],
    ['keys cr', []],
    ['keys create --na', ['--name']],
    ['run ', 'model'],
    ['run --context 4096 ', 'model'],
    ['run m the ', []],
    ['rm ', 'stored'],
    ['serve --mod', ['--model']],
    ['serve --model ', 'model'],
    ['serve -m ', 'model'],
    ['serve --config ', []],
    ['launch co', ['codex', 'copilot', 'code']],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['config --', ['--check', '--print', '--schema', '--config', '--help']],
    ['nonesuch ', []],
    ['compl', ['completion']],
  ])('dragoman %s: %j', (line, values) => {
    expect(completed(line)).toEqual(values)
  })
})

test('names of models do not wait for a server that is alive and does not list its models', async () => {
  const server = createServer((request, response) => void (request.url === '/health' && response.end('{}')))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const print = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  onTestFinished(() => {
    print.mockRestore()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const request = { shell: 'bash', words: ['run', 'qwen3:1'], server: `http://127.0.0.1:${port}` } as const
  await printCompletions(program, { ...request, loadConfig: () => Promise.reject(new Error('it is not needed')) })
  expect(print.mock.calls.flat()).toEqual(['qwen3:1.7b', 'qwen3:14b'])
})

/** A shell with a program `dragoman` on its PATH, and what its completions of a line are. */
const asked = {
  bash: (line: string) => `
eval "$(dragoman completion bash)"
COMP_LINE='dragoman ${line}'; COMP_POINT=\${#COMP_LINE}
_dragoman_complete
printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (line: string) => `
autoload -Uz compinit; compinit -u -D; _describe() { print -rl -- "\${(@P)2}" }; _files() { print files }
eval "$(dragoman completion zsh)"
words=(dragoman ${line
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' ')}); CURRENT=\${#words}; _dragoman`,
  fish: (line: string) => `dragoman completion fish | source; complete -C 'dragoman ${line}'`,
} as const

describe.each(['bash', 'zsh', 'fish'] as const)('the completions of %s', (shell) => {
  const isInstalled = spawnSync(shell, ['--version']).status === 0
  if (!isInstalled) console.warn(`completions of ${shell} are not tested: it is not installed`)
  let folder: string
  beforeAll(buildProgram)
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dragoman-completion-'))
    writeFileSync(join(folder, 'dragoman'), `#!/bin/sh\nexec '${process.execPath}' '${builtProgram}' "$@"\n`)
    chmodSync(join(folder, 'dragoman'), 0o755)
    return () => rmSync(folder, { recursive: true })
  })
  const ask = (line: string) => {
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder, DRAGOMAN_SERVER: 'http://127.0.0.1:9' }
    const { stdout, stderr } = spawnSync(shell, ['-c', asked[shell](line)], { encoding: 'utf8', env })
    if (stderr !== '') throw new Error(stderr)
    // Fish and zsh have a description behind each.
    return stdout
      .trim()
      .split('\n')
      .map((one) =>
        one
          .split('\t')[0]
          ?.replace(/([^\\]):.*$/, '$1')
          .replaceAll('\\:', ':'),
      )
  }

  test.skipIf(!isInstalled)('are those of the definitions', () => {
    expect(ask('serve --po')).toEqual(['--port'])
    expect(ask('un').sort()).toEqual(['undrain', 'unload'])
  })

  if (shell === 'bash') {
    test.skipIf(!isInstalled)('have names with colons, of which bash has read a part', () => {
      expect(ask('run qwen3:1')).toEqual(['1.7b', '14b'])
    })
  }
})

test('a script of a shell is valid for it', () => {
  expect(spawnSync('bash', ['-n'], { input: completionScript('bash') }).status).toBe(0)
})
