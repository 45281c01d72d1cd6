import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Whether this user may mount a file system: root on a machine of its own. */
export const canMount = tryMount()
export const mountHint = canMount ? '' : ' (skipped: this user may not mount a disk)'

/** A disk of one megabyte, which `fill` fills to its last byte. */
export async function smallDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-disk-'))
  mount(folder)
  onTestFinished(() => unmount(folder))
  const filling = join(folder, 'fill')
  return {
    folder,
    fill(): void {
      try {
        writeFileSync(filling, Buffer.alloc(2 << 20))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return
        throw error
      }
      throw new Error('the disk is larger than it should be')
    },
    free: () => rmSync(filling),
  }
}

function tryMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-disk-'))
  try {
    mount(folder)
  } catch {
    rmdirSync(folder)
    return false
  }
  unmount(folder)
  return true
}

function mount(folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
}

/** Lazily: a process that still ends may have its log in it. */
function unmount(folder: string): void {
  execFileSync('umount', ['-l', folder], { stdio: 'ignore' })
  rmdirSync(folder)
}
