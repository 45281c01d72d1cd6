import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { OutputTail } from '../../base/output-tail.ts'
import { withPipes } from '../../base/process/with-pipes.ts'
import { randomHex } from '../../base/random-hex.ts'
import { markVariable, signalFamily } from './process-family.ts'
import { isJSONRPCResponse, ReadBuffer, serializeMessage } from './protocol.ts'

export type Program = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

const maxMessageBytes = 8 * 1024 * 1024
/** Notifications and other noise since the last answer. */
const maxUnansweredBytes = 16 * 1024 * 1024
const graceMs = 1000
/** The variables that a program needs to run at all; any other may be a secret. */
const inherited = process.platform === 'win32' ? ['PATH', 'SYSTEMROOT', 'TEMP', 'USERPROFILE'] : ['PATH', 'HOME', 'LANG']

const running = new Set<ChildTransport>()

/**
 * A server on the standard input and output of a program. Its descendants end with it, as far as they can be found: a server started by npx
 * or a shell, and a browser that leads a session of its own.
 */
export class ChildTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  /** Why it ended. */
  end: string | undefined
  readonly #program: Program
  readonly #onLine: (line: string) => void
  readonly #buffer = new ReadBuffer({ maxBufferSize: maxMessageBytes })
  readonly #mark = randomHex()
  #unansweredBytes = 0
  #child: Child | undefined
  #closed: Promise<unknown> = Promise.resolve()

  constructor(program: Program, onLine: (line: string) => void = () => undefined) {
    this.#program = program
    this.#onLine = onLine
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#program
    const options = { env: { ...environment(), ...env, [markVariable]: this.#mark }, windowsHide: true }
    const child = withPipes(
      spawn(command, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'], detached: process.platform !== 'win32' }),
    )
    if (running.size === 0) process.on('exit', killAll)
    running.add(this)
    this.#child = child
    this.#closed = new Promise((resolve) => child.once('close', resolve))
    child.once('exit', (code, signal) => {
      this.end ??= signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`
      // A surviving descendant would keep its output open.
      this.#signal('SIGKILL')
      // A descendant that was not found would, too; the last answers have been read by then.
      setTimeout(() => this.#stopReading(), graceMs).unref()
    })
    child.once('close', () => {
      running.delete(this)
      if (running.size === 0) process.off('exit', killAll)
      this.#buffer.clear()
      this.onclose?.()
    })
    child.stdin.on('error', (error) => this.onerror?.(error))
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    new OutputTail(this.#onLine).read(child.stderr)
    await once(child, 'spawn')
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {}
    if (stdin === undefined || stdin.destroyed) throw new Error('the program has ended')
    // The call's time limit catches a program that does not read, unless requests pile up.
    if (stdin.writableLength > maxMessageBytes) this.#giveUp('it does not read what it is sent')
    else stdin.write(serializeMessage(message))
  }

  /** Ends all its processes: with a signal, and by force a second later. */
  async close(): Promise<void> {
    const child = this.#child
    if (child === undefined || !running.has(this)) return
    child.stdin.destroy()
    this.#signal('SIGTERM')
    const timer = setTimeout(() => this.#signal('SIGKILL'), graceMs)
    await this.#closed
    clearTimeout(timer)
  }

  /** Ends all its processes by force, immediately. */
  kill(): void {
    this.#signal('SIGKILL')
  }

  #read(chunk: Buffer): void {
    try {
      this.#unansweredBytes += chunk.length
      this.#buffer.append(chunk)
      for (let message = this.#next(); message !== null; message = this.#next()) {
        if (message === undefined) continue
        if (isJSONRPCResponse(message)) this.#unansweredBytes = 0
        this.onmessage?.(message)
      }
      if (this.#unansweredBytes > maxUnansweredBytes) throw new Error('too much without an answer')
    } catch {
      this.#giveUp('it sent more than its limit in one message, or without an answer')
    }
  }

  #giveUp(why: string): void {
    this.end ??= why
    this.#stopReading()
    this.kill()
  }

  #stopReading(): void {
    this.#child?.stdout.destroy()
    this.#child?.stderr.destroy()
  }

  #signal(signal: 'SIGTERM' | 'SIGKILL'): void {
    const child = this.#child
    if (child?.pid === undefined) return
    if (process.platform === 'win32') child.kill(signal)
    else signalFamily(child.pid, this.#mark, signal)
  }

  /** Undefined for a line that is not a message: programs print other things, too. */
  #next(): JSONRPCMessage | null | undefined {
    try {
      return this.#buffer.readMessage()
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
      return undefined
    }
  }
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name] ?? '']])),
  )
}

function killAll(): void {
  for (const transport of running) transport.kill()
}
