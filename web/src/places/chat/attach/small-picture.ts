/** Each turn of a conversation sends its pictures again, and a request has a limit. */
const fewBytes = 1_000_000
/** Models shrink what is larger. */
const longestEdge = 2048
/** Few models and servers read them; Safari does. */
const rareType = /^image\/hei[cf]/

/** A photo as a camera makes it, in the size and form that models read; others as they are. */
export async function smallPicture(file: File): Promise<Blob> {
  if (file.size <= fewBytes && !rareType.test(file.type)) return file
  // Where this browser does not draw it, the server perhaps does.
  return drawn(file).catch(() => file)
}

async function drawn(file: File): Promise<Blob> {
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
    const small = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.9 })
    return small.size < file.size || rareType.test(file.type) ? small : file
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
