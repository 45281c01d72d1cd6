import { isMisdrawn } from '../../../../../src/base/misdrawn.ts'

/** Each turn of a conversation sends its pictures again, and a request has a limit. */
const fewBytes = 1_000_000
/** Models shrink what is larger. */
const longestEdge = 2048
/** Few models and servers read them; browsers do, HEIC only Safari. */
const rareType = /^image\/(hei[cf]|avif|webp)/
/** Has rotation and transparency. */
const headBytes = 256 * 1024

/** A picture in the size and form that models read: upright and on white; others as they are. */
export async function smallPicture(file: File): Promise<Blob> {
  const isWrong = rareType.test(file.type) || isMisdrawn(new Uint8Array(await file.slice(0, headBytes).arrayBuffer()))
  if (file.size <= fewBytes && !isWrong) return file
  // Where this browser does not draw it, the server perhaps does.
  return drawn(file, isWrong).catch(() => file)
}

async function drawn(file: File, isWrong: boolean): Promise<Blob> {
  const picture = await createImageBitmap(file)
  try {
    const scale = Math.min(1, longestEdge / Math.max(picture.width, picture.height))
    const [width, height] = [Math.ceil(picture.width * scale), Math.ceil(picture.height * scale)]
    const canvas = new OffscreenCanvas(width, height)
    const context = canvas.getContext('2d')
    if (context === null || !tells(context)) return file
    context.fillStyle = 'white'
    context.fillRect(0, 0, width, height)
    context.imageSmoothingQuality = 'high'
    context.drawImage(picture, 0, 0, width, height)
    // Letters and lines stay sharp in what is small.
    const isSharp = file.size <= fewBytes && /png|gif/.test(file.type)
    const small = await canvas.convertToBlob({ type: isSharp ? 'image/png' : 'image/jpeg', quality: 0.9 })
    return small.size < file.size || isWrong ? small : file
  } finally {
    picture.close()
  }
}

/** Browsers that hide who uses them give noise in place of what was drawn. */
function tells(context: OffscreenCanvasRenderingContext2D): boolean {
  context.fillStyle = 'rgb(18 52 86)'
  context.fillRect(0, 0, 1, 1)
  return context.getImageData(0, 0, 1, 1).data.join() === '18,52,86,255'
}
