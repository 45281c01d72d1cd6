// The process that decodes one image: `node image-worker.js JOB < image > image`. See convert-image.ts.
import { imageJobSchema } from './image-job.ts'

const job = imageJobSchema.parse(JSON.parse(process.argv[2] ?? ''))
const { default: sharp } = await import('sharp')

// Only the decoder of the recognized type.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: [job.decoder] })
sharp.cache(false)
sharp.concurrency(1)

const pieces: Buffer[] = []
for await (const piece of process.stdin) pieces.push(piece)
const { maxEdge } = job
const upright = sharp(Buffer.concat(pieces), { limitInputPixels: job.maxPixels, failOn: 'error' })
  .autoOrient()
  .flatten({ background: 'white' })
const fitted =
  maxEdge === undefined ? upright : upright.resize({ width: maxEdge, height: maxEdge, fit: 'inside', withoutEnlargement: true })
const written = job.output === 'image/jpeg' ? fitted.jpeg({ quality: 95 }) : fitted.png()
process.stdout.end(await written.toBuffer())
