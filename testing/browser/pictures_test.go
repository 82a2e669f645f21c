package browser

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the page into this `directory`")

// TestPictures writes the pictures of the documentation, if -pictures is set.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("-pictures is not set")
	}
	needBrowser(t)
	w := newShop(t)
	w.run("show", "-format=html", "-out=p.html", "p.tfplan")
	for i, theme := range []string{"light", "dark"} {
		p := w.open("p.html")
		for range i + 1 {
			p.click("#theme")
		}
		p.enter("module.net")
		p.enter("module.net.terraform_data.vpc")
		p.says("#heading", "must be replaced")
		image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*pictures, "plan-"+theme+".png"), image, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
