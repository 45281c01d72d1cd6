import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { until } from '../../support/http/app.ts'
import { builtProgram } from '../../support/process/built-program.ts'
import { useCommandLine } from '../../support/process/command-line.ts'
import { hasTmux, openTmux } from '../../support/process/tmux.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

if (!hasTmux) console.warn('the terminal is not tested: there is no tmux (Debian: apt-get install tmux)')

const cli = useCommandLine()
/** One server for all tests here, whose model repeats what it is sent. */
let server: Awaited<ReturnType<typeof cli.serve>>

describe.skipIf(!hasTmux)('dragoman in a terminal', () => {
  const open = (options: { columns?: number; env?: Record<string, string>; shell?: readonly string[] } = {}) => {
    const env = { D: `${process.execPath} ${builtProgram}`, DRAGOMAN_SERVER: server.url, DRAGOMAN_HOME: cli.home, NO_COLOR: '' }
    return openTmux({ ...options, env: { ...env, ...options.env }, cwd: cli.home })
  }
  /** The messages that a conversation has sent, from the file that it saves. */
  const savedMessages = async (name: string) => {
    const { messages } = JSON.parse(await readFile(join(cli.home, name), 'utf8')) as { messages: { content: string }[] }
    return messages.map(({ content }) => content)
  }

  beforeAll(async () => {
    server = await cli.serve(['--log-level', 'info'])
    cli.keep(server)
  })

  test.for([
    ['bash', ['bash', '--norc', '--noprofile'], 'PATH=$B:$PATH; eval "$(dragoman completion bash)"'],
    ['zsh', ['zsh', '-f'], 'PATH=$B:$PATH; autoload -Uz compinit; compinit -u -D; eval "$(dragoman completion zsh)"'],
    [
      'fish',
      ['fish', '--no-config', '-C', 'function fish_prompt; echo -n "ready> "; end'],
      'set -x PATH $B $PATH; dragoman completion fish | source',
    ],
  ] as const)('Tab completes in %s', async ([name, shell, enable], { skip }) => {
    if (spawnSync(name, ['--version']).status !== 0) skip(`${name} is not installed`)
    const folder = join(cli.home, 'bin')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'dragoman'), `#!/bin/sh\nexec '${process.execPath}' '${builtProgram}' "$@"\n`, { mode: 0o755 })
    const terminal = await open({ shell, env: { B: folder } })
    terminal.enter(`${enable}; echo enabled`)
    await terminal.shows(/^enabled/m)
    terminal.type('dragoman unl')
    terminal.key('Tab')
    await terminal.shows('dragoman unload')
    // A name of the running server.
    terminal.type('scr')
    terminal.key('Tab')
    await terminal.shows('dragoman unload scripted')
  })

  test('a paste of 200 lines is one message, and nothing of it is lost', async () => {
    const terminal = await open()
    const pasted = Array.from({ length: 200 }, (_, index) => `line ${index} ${'x'.repeat(index % 90)}`).join('\n')
    terminal.enter('$D run scripted')
    await terminal.shows(/^>$/m)
    terminal.paste(pasted)
    terminal.key('Enter')
    await terminal.shows('tokens')
    terminal.enter('/save pasted.json')
    await terminal.shows('saved: ')
    expect(await savedMessages('pasted.json')).toEqual([pasted, pasted])
    terminal.key('C-d')
    expect(await terminal.isBack()).toBe(0)
  })

  test('Ctrl-C discards a line, stops an answer on the server, and ends the conversation', async () => {
    const terminal = await open()
    terminal.enter('$D run scripted')
    await terminal.shows(/^>$/m)
    terminal.type('never sent')
    await terminal.shows('> never sent')
    terminal.key('C-c')
    await terminal.shows(/^> \^C\n>$/m)
    // Before its first token, and in the middle.
    terminal.enter('{"chunks":["late"],"delayMs":60000}')
    await until(async () => (await runningRequests()) === 1)
    terminal.key('C-c')
    await terminal.shows('(stopped)')
    terminal.enter('{"chunks":["begun","late"],"delayMs":700}')
    await terminal.shows(/^begun/m)
    terminal.key('C-c')
    await until(() => terminal.screen().includes('(stopped: 1 token, '))
    terminal.enter('still here')
    await terminal.shows(/^still here$/m)
    terminal.key('C-c')
    expect(await terminal.isBack()).toBe(0)
    expect(terminal.screen()).not.toContain('beginlate')
    const stopped = () => {
      const lines = server.err().split('\n')
      return lines.filter((line) => line.includes('"request stopped"'))
    }
    await until(() => stopped().length === 2)
    expect(stopped().map((line) => JSON.parse(line).reason)).toEqual(['requested', 'requested'])
  })

  test('what is typed during an answer is asked after it', async () => {
    const terminal = await open()
    terminal.enter('$D run scripted')
    await terminal.shows(/^>$/m)
    terminal.enter('{"chunks":["be","gun"," end","ed"],"delayMs":300}')
    await terminal.shows(/^begun/m)
    terminal.enter('second')
    await terminal.shows(/second\n/)
    // Lines that come closer together than a person types are one message.
    await pause(100)
    terminal.enter('third')
    await terminal.shows(/^> second\nsecond\n[\s\S]*^> third\nthird\n/m)
    terminal.key('C-d')
    expect(await terminal.isBack()).toBe(0)
  })

  test('settings, a failure, and a conversation that is loaded again', async () => {
    const terminal = await open()
    await writeFile(join(cli.home, 'cat.png'), 'no image')
    terminal.enter('$D run scripted')
    await terminal.shows(/^>$/m)
    terminal.enter('/set temprature 1')
    await terminal.shows("did you mean 'temperature'?")
    terminal.enter('/set top-p 3')
    await terminal.shows('top_p  3')
    terminal.enter('first')
    // What the server refuses does not end the conversation.
    await terminal.shows(/^dragoman: .*top_p[\s\S]*\/retry asks again/m)
    terminal.enter('/set top_p 0.5')
    await terminal.shows('top_p  0.5')
    terminal.enter('/retry')
    await terminal.shows(/^first\n/m)
    terminal.enter('/save chat.json')
    await terminal.shows('saved: ')
    terminal.enter('what is in ./cat.png?')
    await terminal.shows('(./cat.png is sent as an image, 8 B)')
    await terminal.shows(/^dragoman: .*image/m)
    terminal.enter('/bye')
    await terminal.isBack()
    terminal.enter('$D run scripted')
    await terminal.shows(/Ctrl-D[\s\S]*Ctrl-D[\s\S]*^>$/m)
    terminal.enter('/load chat.json')
    await terminal.shows('loaded: 2 messages')
    terminal.enter('/set')
    await until(() => terminal.screen().split('top_p  0.5').length === 3)
    terminal.key('C-d')
    expect(await terminal.isBack()).toBe(0)
  })

  test('what is piped stands before the prompt, also at a terminal', async () => {
    const terminal = await open()
    terminal.enter(`printf 'one\\ntwo\\n' | $D run scripted 'and three'`)
    await terminal.shows(/^one\ntwo\n\nand three\n/m)
    expect(await terminal.isBack()).toBe(0)
  })

  test('a narrow window shows everything, and long lines of it are typed as in a wide one', async () => {
    const terminal = await open({ columns: 28 })
    const typed = Array.from({ length: 30 }, (_, index) => `word${index}`).join(' ')
    terminal.enter('$D run scripted')
    await terminal.shows(/^>$/m)
    terminal.enter(typed)
    await terminal.shows('tokens')
    terminal.resize(50)
    terminal.enter('/save narrow.json')
    await terminal.shows('saved: ')
    expect(await savedMessages('narrow.json')).toEqual([typed, typed])
  })

  test('a narrow window has tables that read: what has no room beside a name is below it', async () => {
    const terminal = await open({ columns: 28 })
    terminal.enter('$D ps --all')
    await terminal.shows(/^scripted\n {2}state ready, engine fake,\n {2}requests 0\/\d+$/m)
    expect(await terminal.isBack()).toBe(0)
  })

  test('Ctrl-C while models are loaded ends the server, which offers nothing then', async () => {
    // It never answers what it has.
    const upstream = await listenOnLoopback(() => undefined)
    const models = [{ id: 'waits', engine: 'remote', endpoints: [{ url: upstream.origin }] }]
    await writeFile(join(cli.home, 'waits.json'), JSON.stringify({ models, builtinModel: false }))
    const terminal = await open()
    terminal.enter('$D serve -c waits.json --port 0')
    await terminal.shows('listening on')
    terminal.key('C-c')
    expect(await terminal.isBack()).toBe(0)
    expect(terminal.screen()).toContain('draining')
    expect(terminal.screen()).not.toMatch(/address|MODEL|Try it/)
    await upstream.close()
  })

  test.each(['pull', 'load'])(
    'Ctrl-C ends %s while its file comes, with 130, and the next one goes on from there',
    async (command) => {
      const bytes = await readFile(builtinModel.path)
      const half = Math.floor(bytes.length / 2)
      let gone = 0
      const ranges: string[] = []
      // A file whose second half comes only to who asks for it.
      const upstream = await listenOnLoopback(({ headers: { range } }, response) => {
        response.on('close', () => {
          gone += 1
        })
        const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0)
        const rest = bytes.subarray(start)
        const part = range !== undefined && { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }
        response.writeHead(range === undefined ? 200 : 206, { etag: '"one"', 'content-length': rest.length, ...part })
        if (range === undefined) return response.write(bytes.subarray(0, half))
        ranges.push(range)
        return response.end(rest)
      })
      const own = await cli.serve()
      const terminal = await open({ env: { DRAGOMAN_SERVER: own.url } })
      terminal.enter('stty -g > before.txt')
      expect(await terminal.isBack()).toBe(0)
      terminal.enter(`$D ${command} ${upstream.origin}/${command}.gguf`)
      await terminal.shows(/^fetching .*\d+%/m)
      terminal.key('C-c')
      expect(await terminal.isBack()).toBe(130)
      await until(() => gone === 1)
      terminal.enter('stty -g | cmp - before.txt')
      expect(await terminal.isBack()).toBe(0)
      terminal.enter(`$D ${command} ${upstream.origin}/${command}.gguf`)
      expect(await terminal.isBack()).toBe(0)
      expect(ranges).toEqual([expect.stringMatching(/^bytes=[1-9]\d+-$/)])
      await upstream.close()
    },
  )

  test('there are colours on a terminal, unless NO_COLOR is set, and none in a file', async () => {
    const dim = '\u001B[2m'
    const coloured = await open()
    coloured.enter('$D run scripted hello 2> notes.txt | tee answer.txt; $D run scripted hello')
    await coloured.shows(/tokens?, the first|tokens\/s/)
    expect(coloured.coloured()).toContain(dim)
    expect(await readFile(join(cli.home, 'answer.txt'), 'utf8')).toBe('hello\n')
    expect(await readFile(join(cli.home, 'notes.txt'), 'utf8')).toBe('')
    const plain = await open({ env: { NO_COLOR: '1' } })
    plain.enter('$D run scripted hello')
    await plain.shows(/tokens?, the first|tokens\/s/)
    expect(plain.coloured()).not.toContain('\u001B')
  })

  async function runningRequests(): Promise<number> {
    const { models } = (await (await fetch(`${server.url}/api/inference/status`)).json()) as { models: { requests: number }[] }
    return models.reduce((sum, { requests }) => sum + requests, 0)
  }
})
