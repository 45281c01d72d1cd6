import type { Command, Report } from '../../../src/engine/llama/channel/ipc.ts'
import type { SpawnWorker, WorkerExit, WorkerHandlers } from '../../../src/engine/llama/process.ts'

/** A worker's report of a loaded model. */
export const ready = {
  type: 'ready',
  build: 'cpu',
  contextLength: 100,
  vocabularySize: 10,
  description: 'tiny',
  embeddingLength: 8,
  endTexts: [],
  fileSampling: { sampling: {}, notes: [] },
} as const satisfies Report

/** Passive workers: the test sends their reports and ends them. */
export class FakeWorkers {
  readonly started: { handlers: WorkerHandlers; commands: Command[]; exit: (exit: Partial<WorkerExit>) => void }[] = []

  readonly spawn: SpawnWorker = (handlers) => {
    const commands: Command[] = []
    let end: (exit: WorkerExit) => void = () => undefined
    const exited = new Promise<WorkerExit>((resolve) => {
      end = resolve
    })
    const exit = ({ description = 'killed by SIGKILL', lastLines = [], fromOutside = true }: Partial<WorkerExit>) =>
      end({ description, lastLines, fromOutside })
    this.started.push({ handlers, commands, exit })
    return {
      pid: this.started.length,
      send: (command) => commands.push(command),
      exited,
      kill: async () => {
        exit({ description: 'killed by SIGTERM' })
        await exited
      },
    }
  }

  get last() {
    const worker = this.started.at(-1)
    if (worker === undefined) throw new Error('no worker was started')
    return worker
  }
}
