import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { builtProgram } from '../../support/process/built-program.ts'
import { useCommandLine } from '../../support/process/command-line.ts'
import { hasTerminal } from '../../support/process/terminal.ts'

if (!hasTerminal) console.warn('conversations in a terminal are not tested: there is no python3 with pty')

const cli = useCommandLine()

describe('dragoman run', () => {
  test('answers on standard output, without a server', async () => {
    const result = await cli.run(['run', 'scripted', '{"chunks":["Hel","lo"]}', '--config', cli.config])
    expect(result).toMatchObject({ code: 0, out: 'Hello\n' })
  })

  test('asks the running server when it has the model', async () => {
    const server = await cli.serve()
    const result = await cli.run(['run', 'default', 'echo me', '--server', server.url])
    server.child.kill('SIGTERM')
    await server.ended
    expect(result).toMatchObject({ code: 0, out: 'echo me\n' })
  })

  test('answers without a server when a key is configured', async () => {
    const result = await cli.run(['run', 'scripted', 'echo me', '--config', cli.config], { DRAGOMAN_API_KEY: 'k' })
    expect(result).toMatchObject({ code: 0, out: 'echo me\n' })
  })

  test('says that a server refuses the key, rather than loading the model a second time', async () => {
    const server = await cli.serve([], { DRAGOMAN_API_KEY: 'k' })
    const result = await cli.run(['run', 'scripted', 'hi', '--config', cli.config, '--server', server.url])
    server.child.kill('SIGTERM')
    await server.ended
    expect(result).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^dragoman: the server at \S+ asks for an API key: set DRAGOMAN_API_KEY .*\n$/),
    })
  })

  test('says when an answer was truncated', async () => {
    const cut = await cli.run(['run', 'scripted', '{"chunks":["Hel"],"finish":"length"}', '--config', cli.config])
    expect(cut).toMatchObject({ code: 0, out: 'Hel\n', err: expect.stringContaining('(truncated: the token limit') })
    const whole = await cli.run(['run', 'scripted', 'Hello', '--config', cli.config])
    expect(whole.err).not.toContain('truncated')
  })

  test.skipIf(!hasTerminal)('in a conversation Ctrl-C stops the answer, and after it the conversation', async () => {
    const replies = join(cli.home, 'replies.yaml')
    const scripted = join(cli.home, 'replies-config.yaml')
    const slow = `{ raw: "begun ${'. '.repeat(20)}ended", delayMs: 400 }`
    await writeFile(replies, `- match: again\n  reply: { raw: "still here" }\n- reply: ${slow}\n`)
    await writeFile(scripted, `models: [{ id: scripted, engine: fake, script: ${replies} }]\n`)
    const running = cli.startOnTerminal(['run', 'scripted', '--config', scripted])
    const asksAgainAfter = (text: string) => running.out().split(text)[1]?.includes('> ') === true
    await until(() => asksAgainAfter('Ctrl-D'))
    running.type('hi\r')
    await until(() => running.out().includes('begun'))
    running.type('\u0003')
    await until(() => asksAgainAfter('begun'))
    running.type('again\r')
    await until(() => asksAgainAfter('still here'))
    running.type('\u0003')
    expect(await running.ended).toBe(0)
    expect(running.out()).not.toContain('ended')
  })

  test.skipIf(!hasTerminal)('reasoning is shown as it comes, apart from the answer', async () => {
    const template = join(cli.home, 'thinking.jinja')
    const thinking = join(cli.home, 'thinking.yaml')
    const reasoning = '{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}'
    await writeFile(template, `{% for m in messages %}${reasoning}{{ m.content }}{% endfor %}`)
    await writeFile(thinking, `models: [{ id: scripted, engine: fake, script: from-request, chatTemplate: ${template} }]\n`)
    const running = cli.startOnTerminal(['run', 'scripted', '{"raw":"<think>Hm</think>42"}', '--config', thinking])
    expect(await running.ended).toBe(0)
    expect(
      running
        .out()
        .replaceAll('\r', '')
        .replace(/\d+ tokens?.*\)/, 'speed)'),
    ).toBe('\u001B[2mHm\u001B[22m\n42\n\u001B[2m(speed)\u001B[22m\n')
  })

  test.skipIf(!hasTerminal)('an unknown model is named before a prompt is shown', async () => {
    const running = cli.startOnTerminal(['run', 'nonesuch', '--config', cli.config])
    expect(await running.ended).toBe(1)
    expect(running.out()).toContain("model 'nonesuch' not found")
    expect(running.out()).not.toContain('> ')
  })

  test.skipIf(!hasTerminal)('commands of a conversation are not sent to the model', async () => {
    const running = cli.startOnTerminal(['run', 'scripted', '--config', cli.config])
    await until(() => running.out().includes('> '))
    running.type('/help\r')
    await until(() => running.out().includes('/system TEXT'))
    running.type('/hlep\r')
    await until(() => running.out().includes('there is no command /hlep'))
    running.type('{"chunks":["Hel","lo there"]}\r')
    await until(() => running.out().includes('Hello there'))
    running.type('/bye\r')
    expect(await running.ended).toBe(0)
  })

  test.skipIf(!hasTerminal).each([
    ['a paste that the terminal marks', '\u001B[200~one\r\ttwo\r\rthree\r\u001B[201~\r', 'one\n\ttwo\n\nthree'],
    ['a paste that the terminal does not mark', 'one\rtwo\rthree\r', 'one\ntwo\nthree'],
    ['a paste in triple quotes', '"""\rone\r/two\r"""\r', 'one\n/two'],
  ])('%s is one message', async (_, keys, text) => {
    const server = await cli.serve()
    const running = cli.startOnTerminal(['run', 'default', '--server', server.url])
    await until(() => running.out().includes('> '))
    running.type(keys)
    // The scripted model repeats what it is sent, behind the echo of the keys.
    await until(() => running.out().replaceAll('\r', '').includes(`\n${text}\n\u001B[2m(`))
    running.type('\u0004')
    expect(await running.ended).toBe(0)
  })

  test.skipIf(!hasTerminal)('what is typed while an answer is shown is asked after it', async () => {
    const running = cli.startOnTerminal(['run', 'scripted', '--config', cli.config])
    await until(() => running.out().includes('> '))
    running.type('{"chunks":["be","gun"," end","ed"],"delayMs":200}\r')
    await until(() => running.out().includes('\nbegun'))
    running.type('second\r')
    await until(() => running.out().includes('ended'))
    await until(() => running.out().split('ended')[1]?.replaceAll('\r', '').includes('\nsecond\n') === true)
    running.type('\u0004')
    expect(await running.ended).toBe(0)
  })

  test('what is piped stands before the prompt', async () => {
    const command = `printf 'piped text' | '${process.execPath}' '${builtProgram}' run scripted 'the prompt' --config '${cli.config}'`
    const running = cli.launch(['sh', '-c', command], {})
    expect(await running.ended).toBe(0)
    expect(running.out()).toBe('piped text\n\nthe prompt\n')
  })

  test('an input that its owner leaves open and silent is not waited for', async () => {
    const running = cli.launch([process.execPath, builtProgram, 'run', 'scripted', 'the prompt', '--config', cli.config], {})
    expect(await running.ended).toBe(0)
    expect(running.out()).toBe('the prompt\n')
  })

  test.skipIf(!hasTerminal)('Ctrl-D ends a conversation', async () => {
    const running = cli.startOnTerminal(['run', 'scripted', '--config', cli.config])
    await until(() => running.out().includes('> '))
    running.type('\u0004')
    expect(await running.ended).toBe(0)
  })

  test('Ctrl-C stops the answer', async () => {
    const running = cli.start([
      'run',
      'scripted',
      '{"chunks":["a","b","c","d","e","f","g","h"],"delayMs":400}',
      '--config',
      cli.config,
    ])
    await until(() => running.out().includes('a'))
    running.child.kill('SIGINT')
    expect(await running.ended).toBe(130)
    expect(running.out()).not.toContain('h')
  })

  test('ends quietly when nobody reads on', async () => {
    const running = cli.start(['run', 'scripted', '{"chunks":["a","b","c","d","e","f"],"delayMs":200}', '--config', cli.config])
    await until(() => running.out().includes('a'))
    running.child.stdout?.destroy()
    await running.ended
    expect(running.err()).not.toContain('EPIPE')
  })

  test('an unknown model is one clear line', async () => {
    const result = await cli.run(['run', 'nonesuch', 'hi', '--config', cli.config])
    expect(result).toMatchObject({ code: 1, err: expect.stringContaining("model 'nonesuch' not found") })
  })
})
