import { readFile, writeFile } from 'node:fs/promises'
import { printable, printableLines } from '../../app/log/printable.ts'
import { codeOf, fileReason } from '../../canonical/failure-reason.ts'
import { ownFolders } from '../../config/own-folders.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { resolvePath } from '../../registry/names/sources.ts'
import type { ChatContent } from '../servers/client.ts'
import { openTerminalInput } from '../terminal/terminal-input.ts'
import { Answer, type AnswerServer } from './answer.ts'
import { type ChatLine, chatHelp, readChatLine } from './chat-commands.ts'
import { Conversation } from './conversation.ts'
import { withImages } from './images.ts'

/**
 * A conversation on the terminal. Failures are reported, and the conversation stays. Ctrl-C stops an answer; at an empty prompt it ends the
 * conversation.
 */
export async function converse(server: AnswerServer, model: string): Promise<void> {
  const terminal = openTerminalInput(process.stdin, process.stderr)
  const conversation = new Conversation()
  const files = new ConversationFiles()
  let answering: Answer | undefined
  const interrupt = () => (answering === undefined ? terminal.close() : answering.stop())
  // In raw mode Ctrl-C is a key that only readline sees; without a terminal it is a signal.
  terminal.onInterrupt(interrupt)
  process.on('SIGINT', interrupt)

  async function ask(question: ChatContent): Promise<void> {
    answering = new Answer(server)
    try {
      conversation.answered(await answering.print(conversation.ask(model, question)))
    } finally {
      answering = undefined
    }
  }

  async function obey(line: Exclude<ChatLine, { type: 'bye' }>, isQuoted: boolean): Promise<string | undefined> {
    switch (line.type) {
      case 'help':
        return chatHelp
      case 'clear':
        conversation.clear()
        return 'the conversation is forgotten'
      case 'system':
        conversation.system = line.text
        return line.text === '' ? 'there is no system prompt now' : 'the system prompt is set'
      case 'set':
        if (line.name !== '') conversation.set(line.name, line.value)
        return conversation.describe()
      case 'save':
        return `saved: ${await files.save(line.file, conversation.save(model))}`
      case 'load': {
        const count = conversation.load(await files.load(line.file))
        return `loaded: ${count} ${count === 1 ? 'message' : 'messages'}`
      }
      case 'unknown':
        return `there is no command ${line.name}; /help lists them`
      case 'retry': {
        const question = conversation.retake()
        if (question === undefined) return 'nothing was asked yet'
        await ask(question)
        return undefined
      }
      case 'message': {
        // A quoted text is only for the model.
        const { content, notes } = isQuoted ? { content: line.text, notes: [] } : await withImages(line.text, ownFolders())
        for (const note of notes) console.error(`(${printable(note)})`)
        await ask(content)
        return undefined
      }
    }
  }

  try {
    console.error(`${printable(model)}: Ctrl-C stops an answer, Ctrl-D ends the conversation, /help lists commands`)
    for (;;) {
      const typed = await terminal.next()
      if (typed === undefined) return
      if (typed.text.trim() === '') continue
      const line = readChatLine(typed)
      if (line.type === 'bye') return
      try {
        const reply = await obey(line, typed.isQuoted)
        if (reply !== undefined) console.error(printableLines(reply))
      } catch (error) {
        if (!(error instanceof AppError) || error.code === 'internal') throw error
        const again = line.type === 'message' || line.type === 'retry' ? '; /retry asks again' : ''
        console.error(printableLines(`dragoman: ${error.message}${again}`))
      }
    }
  } finally {
    process.off('SIGINT', interrupt)
    terminal.close()
  }
}

/** The files of `/save` and `/load`. Files from outside this conversation are not overwritten. */
class ConversationFiles {
  readonly #own = new Set<string>()

  async save(typed: string, text: string): Promise<string> {
    const path = this.#pathOf(typed, '/save')
    try {
      await writeFile(path, text, { flag: this.#own.has(path) ? 'w' : 'wx' })
    } catch (error) {
      const why = codeOf(error) === 'EEXIST' ? 'there is such a file already; choose another name' : messageOf(error)
      throw new AppError('invalid-request', `'${typed}' is not written: ${why}`, { cause: error })
    }
    this.#own.add(path)
    return path
  }

  async load(typed: string): Promise<string> {
    const path = this.#pathOf(typed, '/load')
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw new AppError('invalid-request', `'${typed}' is not loaded: ${fileReason(error)}`, { cause: error })
    })
    this.#own.add(path)
    return text
  }

  #pathOf(typed: string, command: string): string {
    if (typed === '') throw new AppError('invalid-request', `name the file: ${command} FILE`)
    return resolvePath(typed, ownFolders())
  }
}
