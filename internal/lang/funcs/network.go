package funcs

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"

	"github.com/apparentlymart/go-cidr/cidr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
)

var prefixParam = function.Parameter{Name: "prefix", Type: cty.String, Description: "The network, in CIDR notation."}

// cidrhostFunc accepts integers of any size: IPv6 networks can have more than 2⁶⁴ hosts.
var cidrhostFunc = function.New(&function.Spec{
	Description: "`cidrhost` returns the address of a host by its number in a network.",
	Params: []function.Parameter{
		prefixParam,
		{Name: "hostnum", Type: cty.Number, Description: "The number; negative numbers count from the end."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		num, err := wholeNumber(args, 1)
		if err != nil {
			return cty.NilVal, err
		}
		ip, err := cidr.HostBig(network, num)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(ip.String()), nil
	},
})

var cidrnetmaskFunc = function.New(&function.Spec{
	Description:  "`cidrnetmask` returns the subnet mask of an IPv4 network as an address.",
	Params:       []function.Parameter{prefixParam},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		if network.IP.To4() == nil {
			return cty.NilVal, errors.New("an IPv6 network has no subnet mask; use an IPv4 network")
		}
		return cty.StringVal(net.IP(network.Mask).String()), nil
	},
})

var cidrsubnetFunc = function.New(&function.Spec{
	Description: "`cidrsubnet` returns a subnet of a network by its number, in CIDR notation.",
	Params: []function.Parameter{
		prefixParam,
		{Name: "newbits", Type: cty.Number, Description: "The number of bits to add to the prefix."},
		{Name: "netnum", Type: cty.Number, Description: "The value of these bits."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		var newbits int
		if err := gocty.FromCtyValue(args[1], &newbits); err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		num, err := wholeNumber(args, 2)
		if err != nil {
			return cty.NilVal, err
		}
		subnet, err := subnet(network, newbits, num)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(subnet.String()), nil
	},
})

// subnet extends the prefix of a network by newbits bits. A negative newbits enlarges the network;
// num is then not checked. Existing configurations depend on both behaviors.
func subnet(network *net.IPNet, newbits int, num *big.Int) (*net.IPNet, error) {
	prefixLen, addrLen := network.Mask.Size()
	length := prefixLen + newbits
	if length > addrLen {
		return nil, fmt.Errorf(
			"a prefix length of %d cannot be extended by %d, because an address has %d bits", prefixLen, newbits, addrLen)
	}
	if length < 0 {
		return nil, fmt.Errorf("a prefix length of %d cannot be reduced by %d", prefixLen, -newbits)
	}
	if newbits >= 0 && new(big.Int).Abs(num).BitLen() > newbits {
		return nil, fmt.Errorf("the number %s does not fit into newbits = %d", num, newbits)
	}
	size := 8 * len(network.IP) // for an IPv4 address in IPv6 form, the size is larger than addrLen
	addr := new(big.Int).SetBytes(network.IP)
	addr.Or(addr, new(big.Int).Lsh(num, uint(size-length)))
	addr.Abs(addr)
	if addr.BitLen() > size {
		return nil, fmt.Errorf("the number %s does not fit into the address", num)
	}
	ip := addr.FillBytes(make(net.IP, len(network.IP)))
	return &net.IPNet{IP: ip, Mask: net.CIDRMask(length, addrLen)}, nil
}

// cidrsubnetsFunc allocates the networks in order. Each gets the first suitable address after the
// previous one.
var cidrsubnetsFunc = function.New(&function.Spec{
	Description: "`cidrsubnets` returns consecutive subnets of a network.",
	Params:      []function.Parameter{prefixParam},
	VarParam: &function.Parameter{
		Name: "newbits", Type: cty.Number,
		Description: "The number of bits to add to the prefix, for each subnet.",
	},
	Type:         function.StaticReturnType(cty.List(cty.String)),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		network, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		if len(args) == 1 {
			return cty.ListValEmpty(cty.String), nil
		}
		startLen, addrLen := network.Mask.Size()
		subnets := make([]cty.Value, 0, len(args)-1)
		var current *net.IPNet
		for i := 1; i < len(args); i++ {
			length, err := subnetLength(args, i, startLen, addrLen)
			if err != nil {
				return cty.NilVal, err
			}
			current, err = nextSubnet(network, current, length)
			if err != nil {
				return cty.NilVal, function.NewArgError(i, err)
			}
			subnets = append(subnets, cty.StringVal(current.String()))
		}
		return cty.ListVal(subnets), nil
	},
})

// subnetLength returns the prefix length of a subnet. Argument i is the number of bits that the
// subnet adds to startLen.
func subnetLength(args []cty.Value, i, startLen, addrLen int) (int, error) {
	var newbits int
	if err := gocty.FromCtyValue(args[i], &newbits); err != nil {
		return 0, function.NewArgError(i, err)
	}
	if newbits < 1 {
		return 0, function.NewArgErrorf(i, "must extend the prefix by at least one bit")
	}
	if newbits > addrLen-startLen {
		return 0, function.NewArgErrorf(i,
			"must not extend the prefix length of %d by more than %d, because an address has %d bits",
			startLen, addrLen-startLen, addrLen)
	}
	return startLen + newbits, nil
}

// nextSubnet returns the first network with the given prefix length after current. If current is
// nil, it returns the first one in network.
func nextSubnet(network, current *net.IPNet, length int) (*net.IPNet, error) {
	if current == nil {
		_, addrLen := network.Mask.Size()
		return &net.IPNet{IP: network.IP, Mask: net.CIDRMask(length, addrLen)}, nil
	}
	// After the last address, NextSubnet wraps around.
	next, wrapped := cidr.NextSubnet(current, length)
	if wrapped || !network.Contains(next.IP) {
		return nil, fmt.Errorf("there is no space left for a subnet with a prefix length of %d in %s", length, network)
	}
	return next, nil
}

// cidrcontainsFunc checks that the first and the last address of the second network are in the
// first network. A larger network is therefore not contained.
var cidrcontainsFunc = function.New(&function.Spec{
	Description: "`cidrcontains` reports whether a network contains a given address or network.",
	Params: []function.Parameter{
		{Name: "containing_prefix", Type: cty.String, Description: "The network, in CIDR notation."},
		{Name: "contained_ip_or_prefix", Type: cty.String, Description: "An address, or a network in CIDR notation."},
	},
	Type: function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		outer, err := parsePrefix(args[0].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		first, last, err := parseRange(args[1].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		if (first.To4() == nil) != (outer.IP.To4() == nil) {
			return cty.NilVal, errors.New("both arguments must be IPv4, or both IPv6")
		}
		return cty.BoolVal(outer.Contains(first) && outer.Contains(last)), nil
	},
})

// parseRange parses an address or a network and returns its first and last address.
func parseRange(s string) (first, last net.IP, err error) {
	if strings.Contains(s, "/") {
		network, err := parsePrefix(s)
		if err != nil {
			return nil, nil, err
		}
		first, last = cidr.AddressRange(network)
		return first, last, nil
	}
	ip := net.ParseIP(withoutZeros(s))
	if ip == nil {
		return nil, nil, errors.New("the second argument is not an IP address or a network in CIDR notation")
	}
	return ip, ip, nil
}

var errNotPrefix = errors.New("the prefix is not a network in CIDR notation such as 10.0.0.0/8 or 2001:db8::/32")

func parsePrefix(s string) (*net.IPNet, error) {
	_, network, err := net.ParseCIDR(withoutZeros(s))
	if err != nil {
		return nil, errNotPrefix
	}
	return network, nil
}

// withoutZeros removes leading zeros in an IPv4 address. Go's parser rejects them because some
// programs read such numbers as octal; the language reads them as decimal.
func withoutZeros(s string) string {
	addr, bits, isPrefix := strings.Cut(s, "/")
	if strings.Contains(addr, ":") || !strings.Contains(addr, "0") {
		return s
	}
	parts := strings.Split(addr, ".")
	for i, p := range parts {
		if trimmed := strings.TrimLeft(p, "0"); trimmed != "" || p == "" {
			parts[i] = trimmed
		} else {
			parts[i] = "0"
		}
	}
	addr = strings.Join(parts, ".")
	if isPrefix {
		return addr + "/" + bits
	}
	return addr
}

const maxBits = 1024 // maximum number of bits in a number that is added to an address of 128 bits

// wholeNumber returns argument i, a known number, as an integer of any size.
func wholeNumber(args []cty.Value, i int) (*big.Int, error) {
	f := args[i].AsBigFloat()
	if f.MantExp(nil) > maxBits {
		return nil, function.NewArgErrorf(i, "the number is too large for an address")
	}
	n, accuracy := f.Int(nil)
	if n == nil || accuracy != big.Exact {
		return nil, function.NewArgErrorf(i, "must be an integer")
	}
	return n, nil
}
