import { mkdirSync, readdirSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readText } from './measure-processes.ts'

const root = '/sys/fs/cgroup'
const closingTries = 100
const closingPauseMs = 10

/** Where control groups are made, and the memory limit of one: everything included, also the kernel's share for its sockets and files. */
export type GroupPlace = { readonly folder: string; readonly memoryBytes: number }

/**
 * The folder of control groups (version 2) where the server can make some: beside its own group, or inside it at the top level. Undefined
 * without permission. Ends what killed servers have left there.
 */
export function findGroupFolder(): string | undefined {
  const [, own] = /^0::(\/.*)$/m.exec(readText('/proc/self/cgroup')) ?? []
  if (own === undefined) return undefined
  const folder = join(root, dirname(own))
  if (!/\bmemory\b/.test(readText(`${folder}/cgroup.subtree_control`))) return undefined
  for (const name of readdirSync(folder)) {
    const [, pid] = /-(\d+)-\d+$/.exec(name) ?? []
    if (name.startsWith(ownPrefix()) && pid !== undefined && readText(`/proc/${pid}/stat`) === '')
      void new RunGroup(join(folder, name)).close()
  }
  const trial = RunGroup.make({ folder, memoryBytes: 2 ** 20 })
  void trial?.close()
  return trial === undefined ? undefined : folder
}

/** Identifies the groups whose processes this server can see: another container may share the folder, with other process numbers. */
function ownPrefix(): string {
  return `dragoman-${/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0]}-`
}

let made = 0

/** A control group for the processes of one run. */
export class RunGroup {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Undefined if the server may not make one; the measured limits then apply alone. */
  static make({ folder, memoryBytes }: GroupPlace): RunGroup | undefined {
    made += 1
    const group = new RunGroup(join(folder, `${ownPrefix()}${process.pid}-${made}`))
    try {
      mkdirSync(group.#folder)
      group.#write('memory.max', memoryBytes)
      // Without the other settings, this one would do half of its work.
      group.#write('memory.oom.group', 1)
    } catch {
      void group.close()
      return undefined
    }
    try {
      group.#write('memory.swap.max', 0)
    } catch {
      // A machine without swap has no such limit.
    }
    return group
  }

  /** Adds a process and its future descendants. False: it stays outside. */
  add(pid: number): boolean {
    try {
      this.#write('cgroup.procs', pid)
      return true
    } catch {
      return false
    }
  }

  /** Whether the kernel has ended it for lack of memory. */
  get isExhausted(): boolean {
    return /^oom_kill [1-9]/m.test(readText(`${this.#folder}/memory.events`))
  }

  kill(): void {
    try {
      this.#write('cgroup.kill', 1)
    } catch {
      // Missing before Linux 5.14; the run is also killed by its processes.
    }
  }

  /** Ends what is left in the group. */
  async close(): Promise<void> {
    this.kill()
    for (let tries = 0; tries < closingTries; tries++) {
      try {
        rmdirSync(this.#folder)
        return
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return
        await pause(closingPauseMs)
      }
    }
  }

  #write(name: string, value: number): void {
    writeFileSync(join(this.#folder, name), `${value}`)
  }
}
