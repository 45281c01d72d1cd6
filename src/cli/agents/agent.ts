/** What an agent may speak: OpenAI chat completions, Anthropic Messages or OpenAI Responses. */
export const protocols = ['chat', 'messages', 'responses'] as const

export type Protocol = (typeof protocols)[number]

/** What an agent is started with. */
export type Target = {
  /** Of the server, without a path and a slash at the end. */
  readonly url: string
  /** Any text where the server needs no key: agents refuse to start without one. */
  readonly apiKey: string
  /** As the server knows it. */
  readonly model: string
  /** In tokens; absent while the server does not know it. */
  readonly contextLength?: number
  readonly protocol: Protocol
  /** For `files`; it exists as long as the agent runs, and only its user can read it. */
  readonly folder: string
}

export type Setup = {
  /** Added to the environment of the agent. */
  readonly env: Readonly<Record<string, string>>
  /** The same for variables where a value of the user's own wins. */
  readonly defaults?: Readonly<Record<string, string>>
  /** Come before the user's own arguments. */
  readonly args: readonly string[]
  /** Contents by path below the target's folder. */
  readonly files: Readonly<Record<string, string>>
}

/** A coding agent that can be pointed at this server without a change to the user's own configuration. */
export type Agent = {
  readonly title: string
  /** The program on the PATH. */
  readonly command: string
  readonly npmPackage: string
  /** The first is the one that is used unless another is asked for. */
  readonly protocols: readonly [Protocol, ...Protocol[]]
  /** Size of its first request, measured with a prompt of five words: what the model reads before any work begins. */
  readonly firstRequestBytes: number
  /** What it never fills of the context, unless its user says otherwise; more than that is summed up after every step. Absent: unknown. */
  readonly reservedTokens?: number
  readonly setUp: (target: Target) => Setup
}

/** The variable with the key, for agents whose configuration names one: a key has no place in an argument, which `ps` shows. */
export const keyVariable = 'DRAGOMAN_LAUNCH_KEY'

/** The name of the server in the configuration of agents that have several. */
export const providerName = 'dragoman'

/** What an agent may ask for as output: most of a small context has to stay free for its own prompt. */
export function outputLimit(contextLength: number): number {
  return Math.min(32_000, Math.floor(contextLength / 4))
}
