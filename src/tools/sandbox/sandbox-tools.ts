import { randomHex } from '../../base/random-hex.ts'
import { messageOf } from '../../contract/errors.ts'
import type {
  AbsentTool,
  ServerTool,
  SessionPicture,
  SessionPictures,
  ToolListing,
  ToolSession,
  ToolSource,
} from '../../contract/server-tool.ts'
import { otherUser } from './find-machine.ts'
import { checkIsolation, findIsolation } from './isolation.ts'
import type { SandboxLimits } from './limits.ts'
import { readPicture } from './pictures.ts'
import type { SandboxProgram } from './sandbox.ts'
import { SandboxRuns } from './sandbox-runs.ts'
import { SessionFolders } from './session-folders.ts'

export type SandboxToolSettings = SandboxLimits & {
  readonly runtime: string
  readonly interpreter?: string
  readonly timeoutMs: number
}

type SandboxToolsOptions = {
  readonly python?: SandboxToolSettings
  readonly terminal?: SandboxToolSettings
  /** Where the folders of sessions are. */
  readonly folder: string
  readonly idleMs: number
}

type Definition = {
  readonly language: SandboxProgram['language']
  readonly parameter: string
  readonly description: string
  readonly ofParameter: string
}

const shared =
  'The current folder keeps its files between calls of this conversation. There is no network, and nothing can be installed. ' +
  'Pictures that are saved in the current folder (png, jpg, gif, webp, bmp) are shown to the user.'

const definitions: Readonly<Record<'python' | 'terminal', Definition>> = {
  python: {
    language: 'python',
    parameter: 'code',
    description: `Runs a Python 3 program in a sandbox and returns what it prints. Each call is a new program. ${shared}`,
    ofParameter: 'The program. Print what you want to see.',
  },
  terminal: {
    language: 'bash',
    parameter: 'command',
    description: `Runs a command with bash in a sandbox and returns what it prints. ${shared}`,
    ofParameter: 'The command, which may be several lines. It has no terminal: it cannot ask for input.',
  },
}

/** The longest command that Linux accepts. */
const maxCodeBytes = 100_000
const maxCleaningPauseMs = 600_000

/** The tools `python` and `terminal`: present if their programs can be isolated, otherwise absent with the reason. */
export class SandboxTools implements ToolSource, SessionPictures {
  readonly #options: SandboxToolsOptions
  readonly #folders: SessionFolders
  readonly #runs: SandboxRuns
  readonly #listing: Promise<ToolListing>
  readonly #cleaning: NodeJS.Timeout

  /** Immediately tries the isolation, and deletes what earlier sessions have left. */
  constructor(options: SandboxToolsOptions) {
    const { folder, idleMs } = options
    const user = otherUser()
    this.#options = options
    this.#folders = new SessionFolders({ folder, idleMs, ...(user !== undefined && { user }) })
    this.#runs = new SandboxRuns(this.#folders)
    this.#listing = this.#tryTools()
    this.#cleaning = setInterval(() => void this.#clean(), Math.min(idleMs, maxCleaningPauseMs) / 2).unref()
  }

  list(): Promise<ToolListing> {
    return this.#listing
  }

  picture(session: ToolSession, name: string): Promise<SessionPicture> {
    return readPicture(this.#folders.filesOf(session), name)
  }

  async close(): Promise<void> {
    clearInterval(this.#cleaning)
    await this.#listing
    await this.#runs.close()
  }

  async #clean(): Promise<void> {
    await this.#runs.touchRunning()
    await this.#folders.deleteIdle(Date.now()).catch(() => undefined)
  }

  async #tryTools(): Promise<ToolListing> {
    const tools: ServerTool[] = []
    const absent: AbsentTool[] = []
    let folderFailure: unknown
    await this.#folders.prepare().catch((error: unknown) => {
      folderFailure = error
    })
    void this.#clean()
    for (const name of ['python', 'terminal'] as const) {
      const settings = this.#options[name]
      if (settings === undefined) continue
      try {
        if (folderFailure !== undefined) throw folderFailure
        tools.push(await this.#tryTool(name, settings))
      } catch (error) {
        absent.push({ name, why: messageOf(error) })
      }
    }
    return { tools, absent }
  }

  async #tryTool(
    name: 'python' | 'terminal',
    { runtime, interpreter, timeoutMs, ...limits }: SandboxToolSettings,
  ): Promise<ServerTool> {
    const { language, description, parameter, ofParameter } = definitions[name]
    const isolation = await findIsolation(runtime, interpreter)
    const trial = { principalId: '', id: randomHex() }
    try {
      await checkIsolation(isolation, { folder: await this.#folders.open(trial), limits }, language)
    } finally {
      await this.#folders.delete(trial)
    }
    return {
      name,
      kind: name,
      textParameter: parameter,
      description,
      parameters: {
        type: 'object',
        properties: { [parameter]: { type: 'string', description: ofParameter } },
        required: [parameter],
        additionalProperties: false,
      },
      takesTurns: true,
      run: async ({ arguments: given, session, signal, onBegin = () => undefined }) => {
        const code = given[parameter]
        const problem = problemOf(code)
        if (typeof code !== 'string' || problem !== undefined)
          return {
            text: `The call needs \`${parameter}\`: ${problem}.`,
            isError: true,
            advice: `Call ${name} again with \`${parameter}\`.`,
          }
        return this.#runs.run(session, { language, code }, { isolation, limits, timeoutMs, signal, onBegin })
      },
    }
  }
}

function problemOf(code: unknown): string | undefined {
  if (typeof code !== 'string') return 'a text'
  if (code.includes('\0')) return 'a text without the character NUL'
  if (Buffer.byteLength(code) > maxCodeBytes) return `a text of at most ${maxCodeBytes} bytes; write files in several calls`
  return undefined
}
